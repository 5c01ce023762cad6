import fc from "fast-check";
import { expect, test } from "vitest";
import { sha256Hex } from "../../signing/mac.ts";
import { emptySha256 } from "../../signing/receipt.ts";
import { receiptText } from "../../signing/receipt-text.ts";
import { ByteWriter } from "./byte-writer.ts";
import { readPacked, writePacked } from "./packed-text.ts";
import { readSharedTexts, SharedTexts } from "./shared-texts.ts";

function packed(...written: string[]) {
  const texts = new SharedTexts();
  const entries = written.map((text) => {
    const bytes = new ByteWriter();
    writePacked(bytes, texts, text);
    return bytes.take();
  });
  const known = new ByteWriter();
  texts.writeTo(known);
  return { entries, texts, known: known.take() };
}

const receipt = (index: number) =>
  receiptText({
    job_id: `0199aaaa-bbbb-7ccc-8ddd-${String(index).padStart(12, "0")}`,
    attempt: 1,
    worker_id: "w1",
    document_sha256: sha256Hex(String(index)),
    exit_code: null,
    result_sha256: sha256Hex("null"),
    stdout_sha256: emptySha256,
    stderr_sha256: emptySha256,
    output_files: [],
    isolation: { level: "in-process", applied: [], missing: [] },
    usage: null,
    started_at: 1_763_350_000_000 + index,
    ended_at: 1_763_350_000_001 + index,
  });

test("receipts of a batch share one text, and each takes what only it says", () => {
  const { entries, texts } = packed(receipt(1), receipt(2), receipt(3));
  expect(texts.length).toBe(1);
  expect(entries.map(({ length }) => length)).toEqual([61, 61, 61]);
});

test("whatever the text is, it is read as it was written", () => {
  const unit = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.stringMatching(/^[0-9a-f]{60,70}$/),
    fc.stringMatching(/^\d{10,16}$/),
    fc.uuid(),
    fc.constantFrom("\u0001", "\u0002", "\u0003", emptySha256),
  );
  const text = fc.array(unit, { maxLength: 6 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (written) => {
      const { entries, known } = packed(...written);
      const texts = readSharedTexts(known);
      expect(entries.map((entry) => readPacked(entry, texts))).toEqual(written);
    }),
  );
});

test("an entry that is cut off, or names a text that is not there, gives nothing", () => {
  const { entries, known } = packed(receipt(1));
  expect(readPacked(entries[0]!.subarray(0, -1), readSharedTexts(known))).toBeNull();
  expect(readPacked(entries[0]!, [])).toBeNull();
  expect(readPacked(Buffer.alloc(0), [])).toBeNull();
});
