import type { Candidate } from "../../queues/queue-book.ts";
import type { Context } from "../context.ts";

/** Makes delayed jobs claimable once they are due; returns when the next one is due. Why: ADR 0022. */
export function promoteJobs(
  context: Context,
  input: { nowMs: number; limit: number },
): { nextRunAt: number | null } {
  promoteDue(context, input.nowMs, input.limit);
  return { nextRunAt: nextRunAt(context) };
}

export function promoteDue(context: Context, nowMs: number, limit: number): void {
  const next = nextRunAt(context);
  if (next === null || next > nowMs) return;
  const promoted = context.sql.all<Candidate & { queue_id: number }>(
    `UPDATE jobs SET ready = 1
      WHERE seq IN (SELECT seq FROM jobs WHERE ready = 0 AND run_at <= ? ORDER BY run_at LIMIT ?)
      RETURNING queue_id, seq, priority`,
    nowMs,
    limit,
  );
  for (const { queue_id, seq, priority } of promoted) {
    const queue = context.book.byId(queue_id);
    if (queue === undefined) continue;
    context.book.nowReady(queue, { seq, priority });
    context.notice.ready(queue.key, 1);
  }
}

function nextRunAt(context: Context): number | null {
  return context.sql.first<{ at: number | null }>("SELECT min(run_at) AS at FROM jobs WHERE ready = 0")!.at;
}
