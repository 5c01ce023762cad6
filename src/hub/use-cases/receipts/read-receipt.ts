import type { ReceiptParts } from "../../../contract/shapes/report-shapes.ts";
import { invalidArgument } from "../../../core/errors.ts";
import type { OutputFile } from "../../../core/jobs/output-file.ts";
import type { JsonValue } from "../../../core/text/json-value.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import { emptySha256 } from "../../../signing/receipt.ts";
import { type Receipt, receiptText } from "../../../signing/receipt-text.ts";
import type { SentReceipt } from "./keep-receipts.ts";

/**
 * A receipt of an item. One that the hub has written itself need not be parsed for the check; in that of a function, only the
 * document can be another one. Why: ADR 0075, ADR 0125.
 */
export type ReadReceipt = SentReceipt & { text: string; receipt?: Receipt; documentSha256?: string };

type Item = {
  job_id: string;
  attempt?: number | undefined;
  exit_code?: number | undefined;
  isolation?: unknown;
  usage?: unknown;
  receipt?: string | undefined;
  receipt_parts?: ReceiptParts | undefined;
};

/** The hub's own facts about an item. */
type Made = { workerId: string; resultSha256: string | null; outputFiles: string | null };

/** The receipt of an item: the worker's text, or the text that follows from the item and its parts. */
export function readReceipt(item: Item, made: Made): ReadReceipt | undefined {
  const { receipt: text, receipt_parts: parts } = item;
  if (text !== undefined && parts !== undefined)
    throw invalidArgument({ path: "receipt_parts", message: "cannot be given together with receipt" });
  if (text !== undefined) return { text, sha256: sha256Hex(text) };
  return parts === undefined ? undefined : writeReceipt(item, parts, made);
}

function writeReceipt(item: Item, parts: ReceiptParts, made: Made): ReadReceipt {
  const receipt: Receipt = {
    job_id: item.job_id,
    attempt: item.attempt ?? 0,
    worker_id: made.workerId,
    document_sha256: parts.document_sha256,
    exit_code: item.exit_code ?? null,
    result_sha256: made.resultSha256,
    stdout_sha256: parts.stdout_sha256 ?? emptySha256,
    stderr_sha256: parts.stderr_sha256 ?? emptySha256,
    output_files: made.outputFiles === null ? [] : (JSON.parse(made.outputFiles) as OutputFile[]),
    isolation: (item.isolation ?? null) as JsonValue,
    usage: (item.usage ?? null) as JsonValue,
    started_at: parts.started_at ?? null,
    ended_at: parts.ended_at,
  };
  const text = receiptText(receipt);
  return { ...checkedReceipt(text, { path: "receipt_parts.sha256", sha256: parts.sha256 }), receipt };
}

/** The text, if its hash is the one that the worker has signed. */
export function checkedReceipt(
  text: string,
  { path, sha256: signed }: { path: string; sha256: string },
): SentReceipt & { text: string } {
  const sha256 = sha256Hex(text);
  if (sha256 === signed) return { text, sha256 };
  const message = `${signed} is not the SHA-256 of the receipt that follows from this item, which is ${text}; send the text of yours as receipt instead`;
  throw invalidArgument({ path, message });
}

/** The receipt of an item that is refused, as it arrived: it is part of what was signed. */
export function receiptsIn(item: unknown): SentReceipt[] {
  const { receipt, receipt_parts: parts } = (item ?? {}) as { receipt?: unknown; receipt_parts?: unknown };
  if (typeof receipt === "string") return [{ text: receipt, sha256: sha256Hex(receipt) }];
  const sha256 = typeof parts === "object" && parts !== null && "sha256" in parts ? parts.sha256 : null;
  return typeof sha256 === "string" ? [{ text: null, sha256 }] : [];
}
