import type { JobRecord } from "../../../core/jobs/job.ts";
import { JobComparison } from "../../jobs/job-comparison.ts";
import { signatureIdIn } from "../../jobs/read-receipt.ts";
import {
  type SealCall,
  SealCheck,
  type SealedJob,
  type SealedReceipt,
  type SealFindings,
} from "../../jobs/seal-check.ts";
import { compareTimeline, endOfTimeline } from "../../jobs/timeline-end.ts";
import { openServer } from "../connection/check-server.ts";
import type { Connection } from "../connection/connection.ts";
import { readByCursor } from "../connection/cursor.ts";
import { openingError } from "../connection/postgres-error.ts";
import { recordFrom } from "../jobs/job-row.ts";
import { getReceiptSignature } from "../log/receipt-signatures.ts";
import { newestText } from "./read-jobs.ts";

const jobsText = `SELECT j.id, j.tenant_id AS "tenantId", j.user_id AS "userId", j.type, j.priority,
    q.key AS "queueKey", j.max_attempts AS "maxAttempts", j.attempts_chosen AS "attemptsChosen",
    j.limits_defaulted AS "limitsDefaulted", s.timeout_sec AS "timeoutSec",
    j.document_timeout_sec AS "documentTimeoutSec", j.document_sha256 AS "documentSha256",
    j.idempotency_key AS "idempotencyKey", j.terms, j.document, j.mac, s.status, s.fail_code AS "failCode",
    s.fail_detail AS "failDetail"`;

const comparedColumns = `, s.attempt, s.exit_code AS "exitCode", s.result, s.partial_result AS "partialResult", s.isolation,
    s.receipt, s.created_at AS "createdAt", s.held_at AS "heldAt", ${newestText}`;

const jobsFrom = ` FROM ${recordFrom("job_states")}`;

type ComparedRow = SealedJob & JobRecord & { newest: string };

const receiptsText = `SELECT job_id AS "jobId", document, routing, mac FROM receipts`;

/** Checks the seal of every document in a database as it was at one moment. Why: ADR 0086. */
export async function findBrokenSeals(
  url: string,
  { macKey, most, isCompared = false }: SealCall,
): Promise<SealFindings> {
  const sql = await openServer({ url, idleInTransactionMs: 0 });
  const check = new SealCheck(macKey, most);
  try {
    await sql.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const oldest = "SELECT min(created_at) AS oldest FROM receipt_signatures";
    const signatures = await sql.first<{ oldest: number | null }>(oldest);
    const comparison = new JobComparison(macKey, { most, oldestSignedAt: signatures?.oldest ?? null });
    const text = `${jobsText}${isCompared ? comparedColumns : ""}${jobsFrom}`;
    for await (const rows of readByCursor<ComparedRow>(sql, text)) {
      for (const row of rows) {
        check.job(row);
        if (isCompared) await compare(sql, row, comparison);
      }
    }
    check.findings.contradicted = comparison.finish();
    for await (const rows of readByCursor<SealedReceipt>(sql, receiptsText))
      for (const row of rows) check.receipt(row);
    return check.findings;
  } catch (error) {
    throw openingError(error);
  } finally {
    await sql.close();
  }
}

async function compare(sql: Connection, row: ComparedRow, comparison: JobComparison): Promise<void> {
  const end = endOfTimeline(JSON.parse(row.newest) as string[]);
  const signature =
    row.receipt === null ? null : await getReceiptSignature(sql, { id: signatureIdIn(row.receipt) });
  const isContradicted = compareTimeline(row, end).length > 0;
  comparison.look(row, { isContradicted, isReceiptRefused: end.isReceiptRefused, signature });
}
