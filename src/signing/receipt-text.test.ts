import { expect, test } from "vitest";
import type { JsonValue } from "../core/text/json-value.ts";
import { canonicalize } from "./canonical.ts";
import { emptySha256, functionReceiptText } from "./receipt.ts";
import { parseReceipt, type Receipt, receiptText } from "./receipt-text.ts";

const receipt: Receipt = {
  job_id: "0190aaaa-0000-7000-8000-000000000000",
  attempt: 2,
  worker_id: 'w\u00e9 "1"',
  document_sha256: "a".repeat(64),
  exit_code: 0,
  result_sha256: "b".repeat(64),
  stdout_sha256: "c".repeat(64),
  stderr_sha256: "d".repeat(64),
  output_files: [{ folder_id: "f", object_key: "k/\u{1f600}", sha256: "e".repeat(64), size: 3 }],
  isolation: { level: "strict", applied: ["pid"], missing: [] },
  usage: { cpu_ms: 1, memory_peak_bytes: 2 },
  started_at: 1,
  ended_at: 2,
};

test("refuses a receipt with a field too many, a field too few, or in another spelling", () => {
  const { usage: _, ...short } = receipt;
  for (const text of [
    canonicalize({ ...receipt, extra: 1 } as unknown as JsonValue),
    canonicalize(short as unknown as JsonValue),
    receiptText(receipt).replace('"attempt":2', '"attempt": 2'),
    "null",
    "{",
  ])
    expect(() => parseReceipt(text), text).toThrow();
});

test("a receipt is written in canonical form, whatever is null in it", () => {
  const empty = { exit_code: null, result_sha256: null, isolation: null, usage: null, started_at: null };
  for (const one of [receipt, { ...receipt, ...empty, output_files: [] }]) {
    expect(receiptText(one)).toBe(canonicalize(one as unknown as JsonValue));
    expect(parseReceipt(receiptText(one))).toEqual(one);
  }
});

test("the receipt of a function is the one that its fields give", () => {
  const facts = {
    job_id: receipt.job_id,
    attempt: 3,
    worker_id: receipt.worker_id,
    document_sha256: receipt.document_sha256,
    result_sha256: "b".repeat(64),
    started_at: 0,
    ended_at: 1_790_000_000_000,
  };
  const whole: Receipt = {
    ...facts,
    exit_code: null,
    stdout_sha256: emptySha256,
    stderr_sha256: emptySha256,
    output_files: [],
    isolation: { level: "in-process", applied: [], missing: [] },
    usage: null,
  };
  expect(functionReceiptText(facts)).toBe(receiptText(whole));
});
