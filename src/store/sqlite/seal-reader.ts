import { DatabaseSync } from "node:sqlite";
import type { JobRecord } from "../../core/job.ts";
import { isReceiptSealed, isSealed } from "../job-seal.ts";

type Kept = { document: string | null; mac: Uint8Array | null } & Pick<
  JobRecord,
  "status" | "failCode" | "failDetail"
>;
type SealedJob = Parameters<typeof isSealed>[1] & Kept;
type SealedReceipt = Parameters<typeof isReceiptSealed>[1];

const jobsText = `SELECT jobs.id, jobs.tenant_id AS tenantId, user_id AS userId, jobs.type, priority,
    queues.key AS queueKey, max_attempts AS maxAttempts,
    attempts_chosen AS attemptsChosen, limits_defaulted AS limitsDefaulted, timeout_sec AS timeoutSec, document_timeout_sec AS documentTimeoutSec,
    document_sha256 AS documentSha256, idempotency_key AS idempotencyKey, document, mac,
    status, fail_code AS failCode, fail_detail AS failDetail
  FROM jobs LEFT JOIN documents ON documents.job_seq = jobs.seq LEFT JOIN queues ON queues.id = jobs.queue_id`;

const receiptsText = "SELECT job_id AS jobId, document, routing, mac FROM receipts";

/**
 * Checks the seal of every document in a database; returns the first jobs whose seal does not match. A job that was
 * already refused for that reason is only counted: it never runs, and readers see that it is damaged.
 */
export function findBrokenSeals(path: string, macKey: Buffer, most: number): SealFindings {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  let checked = 0;
  let refused = 0;
  const broken: string[] = [];
  const look = (id: string, holds: boolean): void => {
    checked++;
    if (!holds && broken.length < most) broken.push(id);
  };
  try {
    for (const row of database.prepare(jobsText).iterate() as Iterable<SealedJob>) {
      const { document, mac } = row;
      const holds = document !== null && mac !== null && isSealed(macKey, row, document, mac);
      if (!holds && isRefused(row)) refused++;
      else look(row.id, holds);
    }
    for (const row of database.prepare(receiptsText).iterate() as Iterable<SealedReceipt>) {
      look(row.jobId, isReceiptSealed(macKey, row));
    }
    return { checked, broken, refused };
  } finally {
    database.close();
  }
}

type SealFindings = { checked: number; broken: string[]; refused: number };

/** It can never be retried. */
function isRefused({ status, failCode, failDetail }: SealedJob): boolean {
  return status === "failed" && failCode === "SECURITY_VIOLATION" && failDetail === "INVALID_SIGNATURE";
}
