// What both drivers do with a job whose unique key another job has. Why: ADR 0140.
import { type JobEvent, jobEvent, type Origin } from "../../core/events.ts";
import type { JobRecord, NewJob } from "../../core/jobs/job.ts";
import type { ChangeRules } from "../../core/jobs/outcome.ts";
import { type Duplicate, decideDuplicate, uniqueOf } from "../../core/unique/unique.ts";
import type { SubmittedJob } from "../store.ts";

/** For a job with a unique key that another one has. */
export function judgeDuplicate(job: NewJob, holder: JobRecord): Duplicate {
  const { userId, actsForAll = false, createdAt: nowMs } = job;
  return decideDuplicate(uniqueOf(job)!, holder, { userId, actsForAll, nowMs });
}

/** Neither a lease nor a delay matters for a job that waits. */
export function rulesAt(nowMs: number): ChangeRules {
  return { nowMs, leaseMs: 0, backoffScale: 1 };
}

/** The job that stands for the one that was sent. */
export function standIn({ id, status }: JobRecord): SubmittedJob {
  return { id, status, existed: true, isDuplicate: true };
}

/** That the job stands for another one, as its next event. */
export function deduplicated(
  holder: JobRecord,
  { createdAt: ts }: NewJob,
  origin: Origin | null,
): { event: JobEvent; after: JobRecord } {
  const after = { ...holder, eventCount: holder.eventCount + 1 };
  const happened = { event: "JOB_DEDUPLICATED", details: {} } as const;
  return { event: jobEvent(after, happened, { ts, jobSeq: after.eventCount, origin }), after };
}
