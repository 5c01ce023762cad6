// Reads single jobs. What of a job is damaged is named. Why: ADR 0029.
import { aheadMax } from "../../jobs/job-list.ts";
import type { QueuePosition, StoredJob } from "../../store.ts";
import { isDamage } from "../database/sqlite-error.ts";
import { loadJob, type Row } from "../jobs/job-row.ts";
import { readStored, readUnreadable, type StoredContext, storedText } from "../jobs/stored-row.ts";
import type { ReadContext } from "./read-context.ts";

export function getJob(
  context: StoredContext,
  { jobId, tenantId = null }: { jobId: string; tenantId?: string | null },
): StoredJob | null {
  const condition = "WHERE jobs.id = ?1 AND (?2 IS NULL OR jobs.tenant_id = ?2)";
  try {
    const row = context.sql.rowStatement(`${storedText} ${condition}`).get(jobId, tenantId) as
      | Row
      | undefined;
    return row === undefined ? null : readStored(context, row);
  } catch (error) {
    if (!isDamage(error)) throw error;
    const found = context.sql.first<{ seq: number }>(`SELECT seq FROM jobs ${condition}`, jobId, tenantId);
    return found && readUnreadable(context, found.seq);
  }
}

/** How many claimable jobs of the same queue are ahead; null if the job is not pending. */
export function getQueuePosition(context: ReadContext, { jobId }: { jobId: string }): QueuePosition | null {
  const job = loadJob(context, jobId);
  const queue = job === null ? undefined : context.book.byKey(job.queueKey);
  if (job === null || queue === undefined || job.status !== "pending") return null;
  const { ahead } = context.sql.first<{ ahead: number }>(
    `SELECT count(*) AS ahead FROM (
      SELECT 1 FROM jobs WHERE queue_id = ?1 AND ready = 1 AND (priority > ?2 OR (priority = ?2 AND seq < ?3)) LIMIT ?4
    )`,
    queue.id,
    job.priority,
    job.seq,
    aheadMax,
  )!;
  return { ahead, paused: context.book.isPaused(job.type), running: queue.tenant.active };
}
