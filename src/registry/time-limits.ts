import type { JobRow } from "./job-row.ts";

type JobTimes = Pick<JobRow, "picked_at" | "active_at" | "timeout_sec" | "idle_timeout_sec">;

/** Whether a running job has run longer than it may. Silence ends no job: a coding agent at work is often silent. */
export function isTimeOver(job: JobTimes, nowMs: number): boolean {
  return nowMs >= limitsOf(job, job.picked_at ?? job.active_at).timeoutAt;
}

/** When a job that was picked at this time runs out of time: of all of it, or without another event. */
export function limitsOf(job: JobTimes, pickedAt: number): { timeoutAt: number; idleAt: number } {
  return {
    timeoutAt: pickedAt + job.timeout_sec * 1000,
    idleAt: Math.max(pickedAt, job.active_at) + job.idle_timeout_sec * 1000,
  };
}
