import { SealCheck, type SealedJob, type SealedReceipt, type SealFindings } from "../../jobs/seal-check.ts";
import { openServer } from "../connection/check-server.ts";
import { readByCursor } from "../connection/cursor.ts";
import { openingError } from "../connection/postgres-error.ts";
import { recordFrom } from "../jobs/job-row.ts";

const jobsText = `SELECT j.id, j.tenant_id AS "tenantId", j.user_id AS "userId", j.type, j.priority,
    q.key AS "queueKey", j.max_attempts AS "maxAttempts", j.attempts_chosen AS "attemptsChosen",
    j.limits_defaulted AS "limitsDefaulted", s.timeout_sec AS "timeoutSec",
    j.document_timeout_sec AS "documentTimeoutSec", j.document_sha256 AS "documentSha256",
    j.idempotency_key AS "idempotencyKey", j.terms, j.document, j.mac, s.status, s.fail_code AS "failCode",
    s.fail_detail AS "failDetail"
  FROM ${recordFrom("job_states")}`;

const receiptsText = `SELECT job_id AS "jobId", document, routing, mac FROM receipts`;

/** Checks the seal of every document in a database as it was at one moment. Why: ADR 0086. */
export async function findBrokenSeals(url: string, macKey: Buffer, most: number): Promise<SealFindings> {
  const sql = await openServer({ url, idleInTransactionMs: 0 });
  const check = new SealCheck(macKey, most);
  try {
    await sql.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    for await (const rows of readByCursor<SealedJob>(sql, jobsText)) for (const row of rows) check.job(row);
    for await (const rows of readByCursor<SealedReceipt>(sql, receiptsText))
      for (const row of rows) check.receipt(row);
    return check.findings;
  } catch (error) {
    throw openingError(error);
  } finally {
    await sql.close();
  }
}
