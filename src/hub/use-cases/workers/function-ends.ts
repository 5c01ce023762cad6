import { z } from "zod";
import { functionEnd } from "../../../contract/shapes/report-shapes.ts";
import type { JsonValue } from "../../../core/text/json-value.ts";
import { canonicalize } from "../../../signing/canonical.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import { functionReceiptText } from "../../../signing/receipt.ts";
import { parseShape } from "../access/parse-shape.ts";
import { checkedReceipt } from "../receipts/read-receipt.ts";
import { type Ending, resultSha256 } from "./read-ending.ts";

/** A row of `ends` that has its shape: a function succeeded inside its worker and wrote nothing. */
export class FunctionEnd {
  readonly row: z.infer<typeof functionEnd>;

  constructor(row: z.infer<typeof functionEnd>) {
    this.row = row;
  }
}

/** What the hub stores as the isolation of every function. */
const inProcess = JSON.stringify({ level: "in-process", applied: [], missing: [] });

/** Under the name that no error repeats the values of, because a row has a token in it. */
const named = z.strictObject({ ends: functionEnd });

/** The end of an attempt, from a row that was read before or is checked here. Why: ADR 0125. */
export function functionEnding(workerId: string, raw: unknown): Ending {
  const { row } = raw instanceof FunctionEnd ? raw : new FunctionEnd(parseShape(named, { ends: raw }).ends);
  const [jobId, attempt, token, documentSha256, startedAt, endedAt, receiptSha256, value] = row;
  const result = canonicalize((value ?? null) as JsonValue);
  const resultHash = resultSha256(result);
  const text = functionReceiptText({
    job_id: jobId,
    attempt,
    worker_id: workerId,
    document_sha256: documentSha256,
    result_sha256: resultHash,
    started_at: startedAt,
    ended_at: endedAt,
  });
  const receipt = checkedReceipt(text, { path: "receipt_sha256", sha256: receiptSha256 });
  return {
    jobId,
    change: {
      act: "result",
      fence: { workerId, attempt, tokenHash: sha256Hex(token) },
      result,
      resultHash,
      resultKey: null,
      exitCode: null,
      isolation: inProcess,
      usage: null,
      outputFiles: null,
      receipt: null,
      ranMs: endedAt - startedAt,
    },
    receipt: { ...receipt, documentSha256 },
    hasNoOutput: true,
  };
}

/** What a row names, as an item would. It may have been refused for any reason. */
export function namedByRow(raw: unknown): { job_id?: unknown; receipt_parts?: { sha256: unknown } } {
  const row: unknown = raw instanceof FunctionEnd ? raw.row : raw;
  return Array.isArray(row) ? { job_id: row[0], receipt_parts: { sha256: row[receiptPlace] } } : {};
}

const receiptPlace = 6;
