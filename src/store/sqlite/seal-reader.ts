import { DatabaseSync } from "node:sqlite";
import { isReceiptSealed, isSealed } from "../job-seal.ts";

type Sealed = { document: string | null; mac: Uint8Array | null };
type SealedJob = Parameters<typeof isSealed>[1] & Sealed;
type SealedReceipt = Parameters<typeof isReceiptSealed>[1];

const jobsText = `SELECT jobs.id, jobs.tenant_id AS tenantId, user_id AS userId, jobs.type, priority,
    queues.key AS queueKey, max_attempts AS maxAttempts,
    attempts_chosen AS attemptsChosen, limits_defaulted AS limitsDefaulted, timeout_sec AS timeoutSec, document_timeout_sec AS documentTimeoutSec,
    document_sha256 AS documentSha256, idempotency_key AS idempotencyKey, document, mac
  FROM jobs LEFT JOIN documents ON documents.job_seq = jobs.seq LEFT JOIN queues ON queues.id = jobs.queue_id`;

const receiptsText = "SELECT job_id AS jobId, document, routing, mac FROM receipts";

/** Checks the seal of every document in a database; returns the first jobs whose seal does not match. */
export function findBrokenSeals(
  path: string,
  macKey: Buffer,
  most: number,
): { checked: number; broken: string[] } {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  let checked = 0;
  const broken: string[] = [];
  const look = (id: string, holds: boolean): void => {
    checked++;
    if (!holds && broken.length < most) broken.push(id);
  };
  try {
    for (const row of database.prepare(jobsText).iterate() as Iterable<SealedJob>) {
      const { document, mac } = row;
      look(row.id, document !== null && mac !== null && isSealed(macKey, row, document, mac));
    }
    for (const row of database.prepare(receiptsText).iterate() as Iterable<SealedReceipt>) {
      look(row.jobId, isReceiptSealed(macKey, row));
    }
    return { checked, broken };
  } finally {
    database.close();
  }
}
