import { isScheduled as isScheduledAt, type JobState } from "../../core/jobs/job.ts";

/** Whether the time of a job in a list has not come. */
export function isScheduled(job: { status: JobState; attempt: number; run_at: number }): boolean {
  return isScheduledAt({ ...job, runAt: job.run_at }, Date.now());
}
