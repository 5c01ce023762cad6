// Which job has a unique key. A note in a table says where to look, and the job decides. Why: ADR 0140.
import type { Origin } from "../../../core/events.ts";
import type { JobRecord, NewJob } from "../../../core/jobs/job.ts";
import { hasKey, uniqueOf } from "../../../core/unique/unique.ts";
import { deduplicated, judgeDuplicate, rulesAt, standIn } from "../../jobs/duplicate.ts";
import type { SubmitOutcome, SubmittedJob } from "../../store.ts";
import type { Context } from "../context.ts";
import { appendEvent } from "../log/append-event.ts";
import { addEventFrame } from "../log/event-frames.ts";
import type { JobEntry } from "./job-entry.ts";
import { findEntry } from "./load-entry.ts";
import { writeJob } from "./write-job.ts";

type Keyed = Pick<JobRecord, "tenantId" | "terms">;

/** The job that has the unique key of this one; null for a job without one, too. */
export function findHolder(context: Context, job: Keyed, nowMs: number): JobEntry | null {
  const unique = uniqueOf(job);
  if (unique === null) return null;
  const { tenantId } = job;
  const noted = context.sql.first<{ seq: number }>(
    "SELECT seq FROM unique_keys WHERE tenant_id = ? AND key = ?",
    tenantId,
    unique.key,
  );
  const entry = noted && findEntry(context, noted.seq);
  return entry?.isGenuine && hasKey(entry.record, { tenantId, key: unique.key }, nowMs) ? entry : null;
}

/** What becomes of a job with a unique key: another one stands for it, it is refused, or it can be accepted (null). */
export function meetHolder(
  context: Context,
  job: NewJob,
  { index, origin }: { index: number; origin: Origin | null },
): { job: SubmittedJob } | { refusal: SubmitOutcome } | null {
  const holder = findHolder(context, job, job.createdAt);
  if (holder === null) return null;
  const duplicate = judgeDuplicate(job, holder.record);
  const how = { rules: rulesAt(job.createdAt), origin };
  switch (duplicate.kind) {
    case "refuse":
      return { refusal: { kind: "unique_held", index } };
    case "replace":
      writeJob(context, holder, { act: "supersede", by: job.id }, how);
      return null;
    case "postpone":
      writeJob(context, holder, { act: "postpone", runAt: duplicate.runAt }, how);
      break;
    case "keep":
      noteDuplicate(context, holder, deduplicated(holder.record, job, origin));
  }
  return { job: standIn(holder.record) };
}

function noteDuplicate(
  context: Context,
  holder: JobEntry,
  { event, after }: ReturnType<typeof deduplicated>,
): void {
  appendEvent(context, event);
  const eventFrames = addEventFrame(context, holder, context.frame.number);
  context.jobs.put({ ...holder, record: after, eventFrames });
  context.notice.job(after.id);
}
