import { DatabaseSync } from "node:sqlite";
import { SealCheck, type SealedJob, type SealedReceipt, type SealFindings } from "../../jobs/seal-check.ts";

const jobsText = `SELECT jobs.id, jobs.tenant_id AS tenantId, user_id AS userId, jobs.type, priority,
    queues.key AS queueKey, max_attempts AS maxAttempts,
    attempts_chosen AS attemptsChosen, limits_defaulted AS limitsDefaulted, timeout_sec AS timeoutSec, document_timeout_sec AS documentTimeoutSec,
    document_sha256 AS documentSha256, idempotency_key AS idempotencyKey, NULL AS terms, document, mac,
    status, fail_code AS failCode, fail_detail AS failDetail
  FROM jobs LEFT JOIN documents ON documents.job_seq = jobs.seq LEFT JOIN queues ON queues.id = jobs.queue_id`;

const receiptsText = "SELECT job_id AS jobId, document, routing, mac FROM receipts";

/** Checks the seal of every document in a database. Why: ADR 0018. */
export function findBrokenSeals(path: string, macKey: Buffer, most: number): SealFindings {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  const check = new SealCheck(macKey, most);
  try {
    for (const row of database.prepare(jobsText).iterate() as Iterable<SealedJob>) check.job(row);
    for (const row of database.prepare(receiptsText).iterate() as Iterable<SealedReceipt>) check.receipt(row);
    return check.findings;
  } finally {
    database.close();
  }
}
