import { countMove } from "../../../core/jobs/effects.ts";
import { jobRemoved } from "../../log/act-events.ts";
import type { Queue } from "../../queues/queue-book.ts";
import { dropJobObjects } from "../acts/object-acts.ts";
import { removeOutputs } from "../acts/output-acts.ts";
import { closeEmptyQueue } from "../claims/queue-rows.ts";
import type { Context } from "../context.ts";
import { countJob } from "../counts/count-job.ts";
import { removeEntries } from "../frames/remove-entries.ts";
import { appendEvent } from "../log/append-event.ts";
import { addEventFrame, keepTimeline } from "../log/event-frames.ts";
import { keepReceipt } from "../log/kept-receipts.ts";
import { writeRowsNow } from "./flush-rows.ts";
import type { JobEntry } from "./job-entry.ts";
import { removeBeside } from "./keep-beside.ts";
import { selectEntries } from "./load-entry.ts";

type PruneInput = { endedBefore: number; quarantinedBefore: number; limit: number; nowMs: number };

/**
 * Deletes finished jobs, oldest first. Their events stay until their own time, and so do the documents of those that have a
 * receipt; other documents and lines are overwritten where they are. Why: ADR 0116.
 */
export function pruneJobs(context: Context, input: PruneInput): string[] {
  writeRowsNow(context);
  context.mustFlush = true;
  const ended = selectEntries(
    context,
    `INDEXED BY jobs_ended WHERE completed_at < ? AND status IN (3, 4) AND ${isNotKept} ORDER BY completed_at LIMIT ?`,
    input.endedBefore,
    input.limit,
  );
  const quarantined = selectEntries(
    context,
    `INDEXED BY jobs_quarantined WHERE status = 5 AND completed_at < ? AND ${isNotKept} ORDER BY completed_at LIMIT ?`,
    input.quarantinedBefore,
    input.limit - ended.length,
  );
  const kept = selectEntries(
    context,
    "WHERE seq IN (SELECT seq FROM kept_jobs WHERE until <= ? ORDER BY until LIMIT ?)",
    input.nowMs,
    input.limit - ended.length - quarantined.length,
  );
  const entries = [...ended, ...quarantined, ...kept];
  if (entries.length > 0) context.removal = "some";
  const queues = new Set<Queue>();
  for (const entry of entries) {
    const queue = pruneJob(context, entry, input.nowMs);
    if (queue !== undefined) queues.add(queue);
  }
  removeEntries(context, entries.filter(({ receiptAt }) => receiptAt === null).flatMap(submitted));
  for (const queue of queues) closeEmptyQueue(context, queue);
  if (queues.size > 0) context.names.forget();
  return entries.map(({ record }) => record.id);
}

/** A job that says how long it is kept is deleted then, whatever the hub does with others. */
const isNotKept = "NOT EXISTS (SELECT 1 FROM kept_jobs WHERE kept_jobs.seq = jobs.seq)";

function pruneJob(context: Context, entry: JobEntry, nowMs: number): Queue | undefined {
  const { sql, book } = context;
  const { record } = entry;
  keepReceipt(context, entry);
  dropJobObjects(context, record.id);
  appendEvent(context, jobRemoved(record, nowMs));
  context.notice.job(record.id);
  keepTimeline(context, record.id, addEventFrame(context, entry, context.frame.number));
  removeOutputs(context, record.seq);
  removeBeside(context, entry);
  sql.run("DELETE FROM jobs WHERE seq = ?", record.seq);
  context.jobs.forget(record.seq);
  countJob(context, record, record.status, -1);
  const queue = book.byId(entry.queueId);
  if (queue !== undefined) book.adjust(queue, countMove(record.status, null));
  return queue;
}

/** Where what was submitted with a job is. */
function submitted({ at, lineAt }: JobEntry) {
  const lines = lineAt === null ? [at] : [at, lineAt];
  return [
    { ...at, payload: "documents" as const },
    ...lines.map((place) => ({ ...place, payload: "jobs" as const })),
  ];
}
