import { isScheduled as isScheduledAt, type JobState } from "../../core/jobs/job.ts";

type Listed = { status: JobState; attempt: number; run_at: number; held_at?: number | null | undefined };

/** Whether a listed job is not due yet. */
export function isScheduled(job: Listed): boolean {
  return isScheduledAt({ ...job, runAt: job.run_at, heldAt: job.held_at ?? null }, Date.now());
}
