import type { QueuePosition, StoredJob } from "../store.ts";
import type { Context } from "./context.ts";
import { jobColumns, jobWidth, loadJob, type Row, readJob } from "./job-row.ts";

const storedText = `SELECT ${jobColumns}, document, output_dropped_through, output_sizes
  FROM jobs LEFT JOIN documents ON documents.job_seq = jobs.seq`;

export function getJob(
  context: Context,
  { jobId, tenantId = null }: { jobId: string; tenantId?: string | null },
): StoredJob | null {
  const text = `${storedText} WHERE jobs.id = ?1 AND (?2 IS NULL OR jobs.tenant_id = ?2)`;
  const row = context.sql.rowStatement(text).get(jobId, tenantId) as Row | undefined;
  return row === undefined ? null : readStored(context, row);
}

function readStored(context: Context, row: Row): StoredJob {
  const [document, throughAttempt, sizes] = row.slice(jobWidth) as [string | null, number, string | null];
  return {
    job: readJob(context, row),
    document: document ?? "",
    droppedOutput: throughAttempt === 0 ? null : { throughAttempt, sizes: JSON.parse(sizes ?? "{}") },
  };
}

/** Counting stops here, because nobody needs the exact length of a longer queue. */
const aheadMax = 100_000;

/** How many claimable jobs of the same queue are ahead; null if the job is not pending. */
export function getQueuePosition(context: Context, { jobId }: { jobId: string }): QueuePosition | null {
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
