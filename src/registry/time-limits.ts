import type { JobRow } from "./job-row.ts";

export type TimeLimit = "timeout" | "idle_timeout";
type Times = Pick<JobRow, "picked_at" | "active_at" | "timeout_sec" | "idle_timeout_sec">;

/** Which of its two limits a running job has passed; null if neither. */
export function overdue(job: Times, nowMs: number): TimeLimit | null {
  const { timeoutAt, idleAt } = limitsOf(job, job.picked_at ?? job.active_at);
  if (nowMs >= timeoutAt) return "timeout";
  return nowMs >= idleAt ? "idle_timeout" : null;
}

/** When a job that was picked at this time runs out of time: of all of it, or without another event. */
export function limitsOf(job: Times, pickedAt: number): { timeoutAt: number; idleAt: number } {
  return {
    timeoutAt: pickedAt + job.timeout_sec * 1000,
    idleAt: Math.max(pickedAt, job.active_at) + job.idle_timeout_sec * 1000,
  };
}
