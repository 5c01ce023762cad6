import type { Candidate } from "../../queues/queue-book.ts";
import type { Context } from "../context.ts";
import { writeRowsNow } from "../jobs/flush-rows.ts";
import { openLanesOf } from "../lanes/settle-job.ts";

/** Makes delayed jobs claimable once they are due; returns when the next one is due. Why: ADR 0116. */
export function promoteJobs(
  context: Context,
  input: { nowMs: number; limit: number },
): { nextRunAt: number | null } {
  promoteDue(context, input.nowMs, input.limit);
  const times = [nextRunAt(context), openLanesOf(context, input)].filter((at) => at !== null);
  return { nextRunAt: times.length === 0 ? null : Math.min(...times) };
}

export function promoteDue(context: Context, nowMs: number, limit: number): void {
  const next = nextRunAt(context);
  if (next === null || next > nowMs) return;
  writeRowsNow(context);
  context.mustFlush = true;
  const promoted = context.sql.all<Candidate & { queueId: number }>(
    `UPDATE jobs SET ready = 1
      WHERE seq IN (SELECT seq FROM jobs WHERE ready = 0 AND run_at <= ? ORDER BY run_at LIMIT ?)
      RETURNING queue_id AS queueId, seq, priority`,
    nowMs,
    limit,
  );
  context.nextRunAt = undefined;
  for (const { queueId, seq, priority } of promoted) {
    const known = context.jobs.get(seq);
    if (known !== undefined) context.jobs.remember({ ...known, ready: 1 });
    const queue = context.book.byId(queueId);
    if (queue === undefined) continue;
    context.book.nowReady(queue, { seq, priority });
    context.windows.add(queue, { seq, priority });
    context.notice.ready(queue.key, 1);
  }
}

/** Asked before every claim, so it is remembered. */
function nextRunAt(context: Context): number | null {
  if (context.nextRunAt === undefined) {
    writeRowsNow(context);
    context.nextRunAt = context.sql.first<{ at: number | null }>(
      "SELECT min(run_at) AS at FROM jobs WHERE ready = 0",
    )!.at;
  }
  return context.nextRunAt;
}
