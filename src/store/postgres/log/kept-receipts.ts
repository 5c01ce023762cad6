import type { JobRecord } from "../../../core/jobs/job.ts";
import { findRouting, isReceiptSealed, readRouting } from "../../jobs/job-seal.ts";
import type { ForgottenJob } from "../../store.ts";
import type { Connection } from "../connection/connection.ts";
import type { ReadContext } from "../reads/read-context.ts";
import type { Transaction } from "../transaction/transaction.ts";

/**
 * Keeps the receipt of a job that is about to be deleted, with everything needed to vouch for it.
 * Why: ADR 0013, ADR 0075.
 */
export function keepReceipt(
  tx: Transaction,
  job: JobRecord,
  { document, mac }: { document: string; mac: Buffer },
): void {
  tx.send(
    `INSERT INTO receipts (job_seq, job_id, document, routing, mac, receipt, ended_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    job.seq,
    job.id,
    document,
    // Nothing matches a seal that is broken, and an empty routing least of all.
    findRouting(tx.context.macKey, job, document, mac) ?? "",
    mac,
    job.receipt,
    job.completedAt,
  );
}

type Row = { document: string; routing: string; mac: Uint8Array; receipt: string };

export async function getForgottenJob(
  sql: Connection,
  { jobId }: { jobId: string },
  { macKey }: ReadContext,
): Promise<ForgottenJob | null> {
  const row = await sql.first<Row>(
    "SELECT document, routing, mac, receipt FROM receipts WHERE job_id = $1 ORDER BY job_seq DESC LIMIT 1",
    jobId,
  );
  if (row === null) return null;
  const { document, routing, mac, receipt } = row;
  const isSealed = isReceiptSealed(macKey, { jobId, document, routing, mac });
  return { ...readRouting(routing), id: jobId, document, receipt, isSealed };
}

export async function pruneReceipts(
  tx: Transaction,
  { before, limit }: { before: number; limit: number },
): Promise<{ removed: number }> {
  const removed = await tx.sql.run(
    `DELETE FROM receipts
      WHERE job_seq IN (SELECT job_seq FROM receipts WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)`,
    before,
    limit,
  );
  return { removed };
}
