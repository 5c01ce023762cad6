import { countMove } from "../../../core/jobs/effects.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import { jobRemoved } from "../../log/act-events.ts";
import type { Queue } from "../../queues/queue-book.ts";
import { dropJobObjects } from "../acts/object-acts.ts";
import { closeEmptyQueue } from "../claims/queue-rows.ts";
import type { Context } from "../context.ts";
import { appendEvent } from "../log/event-log.ts";
import { keepReceipt } from "../log/kept-receipts.ts";
import { countJob } from "./apply-effects.ts";
import { removeSmallOutputs } from "./small-outputs.ts";

type PruneInput = { endedBefore: number; quarantinedBefore: number; limit: number; nowMs: number };
type Prunable = Pick<
  JobRecord,
  "id" | "tenantId" | "userId" | "type" | "status" | "failCode" | "eventCount"
> & {
  seq: number;
  queue_id: number;
  output_bytes: number;
};

const columns = `seq, id, queue_id, status, output_bytes, type, tenant_id AS tenantId, user_id AS userId,
    fail_code AS failCode, event_count AS eventCount`;

/** Deletes finished jobs, oldest first; their events and receipts stay until their own time. Why: ADR 0013. */
export function pruneJobs(context: Context, input: PruneInput): string[] {
  const jobs = findPrunable(context, input);
  const queues = new Set<Queue>();
  for (const job of jobs) {
    keepReceipt(context, job.seq);
    dropJobObjects(context, job.id);
    appendEvent(context, jobRemoved(job, input.nowMs));
    context.notice.job(job.id);
    removeSmallOutputs(context, job.seq);
    context.sql.run("DELETE FROM jobs WHERE seq = ?", job.seq);
    countJob(context, job, job.status, -1);
    context.tallies.add("output_bytes", -job.output_bytes);
    const queue = context.book.byId(job.queue_id);
    if (queue === undefined) continue;
    context.book.adjust(queue, countMove(job.status, null));
    queues.add(queue);
  }
  for (const queue of queues) closeEmptyQueue(context, queue);
  return jobs.map((job) => job.id);
}

/** Dead letters have an index of their own, so that the many completed jobs are not read for a few dead letters. */
function findPrunable(context: Context, input: PruneInput): Prunable[] {
  const ended = context.sql.all<Prunable>(
    `SELECT ${columns} FROM jobs INDEXED BY jobs_ended
      WHERE completed_at < ? AND status IN ('completed', 'failed') ORDER BY completed_at LIMIT ?`,
    input.endedBefore,
    input.limit,
  );
  const quarantined = context.sql.all<Prunable>(
    `SELECT ${columns} FROM jobs INDEXED BY jobs_quarantined
      WHERE status = 'quarantined' AND completed_at < ? ORDER BY completed_at LIMIT ?`,
    input.quarantinedBefore,
    input.limit - ended.length,
  );
  return [...ended, ...quarantined];
}
