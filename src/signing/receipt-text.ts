import { WritError } from "../core/errors.ts";
import type { OutputFile } from "../core/jobs/output-file.ts";
import type { JsonObject, JsonValue } from "../core/text/json-value.ts";
import { canonicalize, canonicalString, readPlainly } from "./canonical.ts";
import { parseJson } from "./parse-json.ts";

/** What a worker signs when an attempt has ended. Hashes are of bytes, times are milliseconds since the epoch. */
export type Receipt = {
  job_id: string;
  attempt: number;
  worker_id: string;
  document_sha256: string;
  exit_code: number | null;
  /** SHA-256 of the canonical form of the result, or of the partial result; null if there is neither. */
  result_sha256: string | null;
  stdout_sha256: string;
  stderr_sha256: string;
  output_files: OutputFile[];
  isolation: JsonValue;
  usage: JsonValue;
  started_at: number | null;
  ended_at: number;
};

const fieldNames: readonly (keyof Receipt)[] = [
  "job_id",
  "attempt",
  "worker_id",
  "document_sha256",
  "exit_code",
  "result_sha256",
  "stdout_sha256",
  "stderr_sha256",
  "output_files",
  "isolation",
  "usage",
  "started_at",
  "ended_at",
];

/** Written by hand because it is made for every attempt; the fields are in canonical order. Why: ADR 0064. */
export function receiptText(receipt: Receipt): string {
  return (
    `{"attempt":${canonicalize(receipt.attempt)},"document_sha256":${canonicalString(receipt.document_sha256)}` +
    `,"ended_at":${canonicalize(receipt.ended_at)},"exit_code":${canonicalize(receipt.exit_code)}` +
    `,"isolation":${canonicalize(receipt.isolation)},"job_id":${canonicalString(receipt.job_id)}` +
    `,"output_files":${canonicalize(receipt.output_files)},"result_sha256":${canonicalize(receipt.result_sha256)}` +
    `,"started_at":${canonicalize(receipt.started_at)},"stderr_sha256":${canonicalString(receipt.stderr_sha256)}` +
    `,"stdout_sha256":${canonicalString(receipt.stdout_sha256)},"usage":${canonicalize(receipt.usage)}` +
    `,"worker_id":${canonicalString(receipt.worker_id)}}`
  );
}

/** Reads exactly what `receiptText` writes. Whether it is true is for the caller to check. */
export function parseReceipt(text: string): Receipt {
  const value = readPlainly(text) ?? readStrictly(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid("it is not a JSON object");
  }
  const receipt = value as JsonObject;
  const hasFields = fieldNames.every((field) => Object.hasOwn(receipt, field));
  if (!hasFields || Object.keys(receipt).length !== fieldNames.length) {
    throw invalid("it does not have exactly the fields of a receipt");
  }
  return receipt as unknown as Receipt;
}

function readStrictly(text: string): JsonValue {
  const value = parseJson(text);
  if (canonicalize(value) !== text) throw invalid("it is not in canonical form");
  return value;
}

function invalid(reason: string): WritError {
  return new WritError("INVALID_DOCUMENT", `the receipt is refused: ${reason}`);
}

/** For comparisons: where its processes were is shown only while they run. */
export function isolationText(isolation: JsonValue): string {
  if (typeof isolation !== "object" || isolation === null || Array.isArray(isolation))
    return canonicalize(isolation);
  const { cgroup: _, ...rest } = isolation as JsonObject;
  return canonicalize(rest);
}
