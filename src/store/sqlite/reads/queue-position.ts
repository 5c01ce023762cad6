import { aheadMax } from "../../jobs/job-list.ts";
import type { QueuePosition } from "../../store.ts";
import { idBytes } from "../jobs/job-entry.ts";
import type { ReadContext } from "./read-context.ts";

type Waiting = { seq: number; queueId: number; priority: number };

/** How many claimable jobs of the same queue are ahead; null if the job is not pending. Why: ADR 0116. */
export function getQueuePosition(context: ReadContext, { jobId }: { jobId: string }): QueuePosition | null {
  const id = idBytes(jobId);
  const job =
    id &&
    context.sql.first<Waiting>(
      "SELECT seq, queue_id AS queueId, priority FROM jobs WHERE id = ? AND status = 0",
      id,
    );
  const queue = job && context.book.byId(job.queueId);
  if (!job || !queue) return null;
  const { ahead } = context.sql.first<{ ahead: number }>(
    `SELECT count(*) AS ahead FROM (
      SELECT 1 FROM jobs WHERE queue_id = ?1 AND ready = 1 AND (priority > ?2 OR (priority = ?2 AND seq < ?3)) LIMIT ?4
    )`,
    queue.id,
    job.priority,
    job.seq,
    aheadMax,
  )!;
  return { ahead, paused: context.book.isPaused(queue.facts.type), running: queue.tenant.active };
}
