import type { CopyPart, CopyRow } from "../../database/database-copy.ts";
import { isReceiptSealed, readRouting } from "../../jobs/job-seal.ts";
import { isCopySealed, knownHash, knownId, recordOfCopy } from "./copied-jobs.ts";
import { ChainOfCopy, type LogNumbers } from "./copied-log.ts";
import { receiptOf } from "./copied-receipts.ts";

export type ContentOf = (part: CopyPart, row: CopyRow) => CopyRow;

/**
 * What the rows of a database say, whichever form it has: a seal holds or it does not, because a seal that was made again has other
 * bytes. Rows come in the order of parts and keys. Why: ADR 0121.
 */
export function contentOfRows(macKey: Buffer, numbers: LogNumbers): ContentOf {
  const queueKeys = new Map<unknown, string>();
  const chain = new ChainOfCopy(numbers);
  return ({ name }, row) => {
    if (name === "queues") queueKeys.set(row["id"], String(row["key"]));
    if (name === "jobs") return jobContent(macKey, row, queueKeys.get(row["queue_id"]) ?? "");
    if (name === "receipts") return receiptContent(macKey, row);
    return name === "events" ? recordContent(chain, row) : row;
  };
}

function jobContent(macKey: Buffer, row: CopyRow, queueKey: string): CopyRow {
  const record = recordOfCopy(row, queueKey);
  const isSealed = isCopySealed(macKey, record, row);
  const content = {
    ...row,
    id: knownId(record.id),
    document: row["document"] ?? "",
    mac: isSealed ? "holds" : "broken",
    retry_counts: JSON.stringify(record.retryCounts),
  };
  // A queue has one type.
  return isSealed ? content : { ...content, type: null, document_sha256: knownHash(record.documentSha256) };
}

function receiptContent(macKey: Buffer, row: CopyRow): CopyRow {
  const { jobId, routing, ...kept } = receiptOf(row);
  const { tenantId, userId, documentSha256 } = readRouting(routing);
  const isSealed = isReceiptSealed(macKey, { jobId, routing, ...kept });
  return {
    ...row,
    job_id: knownId(jobId),
    routing: JSON.stringify([tenantId, userId, knownHash(documentSha256)]),
    mac: isSealed ? "holds" : "broken",
  };
}

function recordContent(chain: ChainOfCopy, row: CopyRow): CopyRow {
  const { seq, stored, severity, hash, isGenuine } = chain.next(row);
  if (isGenuine) return { seq, hash };
  return { seq, hash, severity: stored && severity, event: stored && JSON.stringify(stored) };
}
