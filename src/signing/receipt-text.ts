import { WritError } from "../core/errors.ts";
import type { JsonObject, JsonValue } from "../core/json-value.ts";
import type { OutputFile } from "../core/output-file.ts";
import { canonicalize } from "./canonical.ts";
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

export function receiptText(receipt: Receipt): string {
  return canonicalize(receipt as unknown as JsonValue);
}

/** Reads exactly what `receiptText` writes. Whether it is true is for the caller to check. */
export function parseReceipt(text: string): Receipt {
  const value = readPlain(text) ?? readStrictly(text);
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

/**
 * The plain parser is three times as fast. If serialising its result gives the same bytes, the text has no duplicate
 * key and no other spelling of a number. Returns null for any other text; the strict parser then reports what is wrong.
 */
function readPlain(text: string): JsonValue | null {
  try {
    const value = JSON.parse(text) as JsonValue;
    return canonicalize(value) === text ? value : null;
  } catch {
    return null;
  }
}

function readStrictly(text: string): JsonValue {
  const value = parseJson(text);
  if (canonicalize(value) !== text) throw invalid("it is not in canonical form");
  return value;
}

function invalid(reason: string): WritError {
  return new WritError("INVALID_DOCUMENT", `the receipt is refused: ${reason}`);
}
