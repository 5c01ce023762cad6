import { isScheduled as isScheduledAt, type JobState } from "../../core/jobs/job.ts";

/** Whether a listed job is not due yet. */
export function isScheduled(job: { status: JobState; attempt: number; run_at: number }): boolean {
  return isScheduledAt({ ...job, runAt: job.run_at }, Date.now());
}
