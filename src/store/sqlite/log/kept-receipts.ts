import { findRouting, isReceiptSealed, readRouting } from "../../jobs/job-seal.ts";
import type { ForgottenJob } from "../../store.ts";
import type { Context } from "../context.ts";
import { loadJobs } from "../jobs/job-row.ts";
import { loadSealed } from "../jobs/reseal-job.ts";
import type { ReadContext } from "../reads/read-context.ts";

/**
 * Keeps the receipt of a job that is about to be deleted, with everything needed to vouch for it.
 * Why: ADR 0013, ADR 0075.
 */
export function keepReceipt(context: Context, jobSeq: number): void {
  const [job] = loadJobs(context, "WHERE seq = ? AND receipt IS NOT NULL", jobSeq);
  if (job === undefined) return;
  const sealed = loadSealed(context, jobSeq);
  if (sealed === null) return;
  const { document, mac } = sealed;
  context.sql.run(
    `INSERT INTO receipts (job_seq, job_id, document, routing, mac, receipt, ended_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)`,
    jobSeq,
    job.id,
    document,
    // Nothing matches a seal that is broken, and an empty routing least of all.
    findRouting(context.macKey, job, document, mac) ?? "",
    mac,
    job.receipt,
    job.completedAt,
  );
}

type Row = { document: string; routing: string; mac: Uint8Array; receipt: string };

export function getForgottenJob(context: ReadContext, { jobId }: { jobId: string }): ForgottenJob | null {
  const row = context.sql.first<Row>(
    "SELECT document, routing, mac, receipt FROM receipts WHERE job_id = ? ORDER BY job_seq DESC LIMIT 1",
    jobId,
  );
  if (row === null) return null;
  const { document, routing, mac, receipt } = row;
  const isSealed = isReceiptSealed(context.macKey, { jobId, document, routing, mac });
  return { ...readRouting(routing), id: jobId, document, receipt, isSealed };
}

export function pruneReceipts(
  context: Context,
  { before, limit }: { before: number; limit: number },
): { removed: number } {
  const removed = context.sql.run(
    `DELETE FROM receipts
      WHERE job_seq IN (SELECT job_seq FROM receipts WHERE ended_at < ? ORDER BY ended_at LIMIT ?)`,
    before,
    limit,
  );
  return { removed };
}
