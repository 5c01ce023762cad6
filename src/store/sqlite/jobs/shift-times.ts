import { type Context, forgetJobs } from "../context.ts";

/**
 * Moves what measures how long something lasts; a `run_at` that a producer chose is a time of day and stays.
 * Why: ADR 0028.
 */
export function shiftTimes(context: Context, { byMs }: { byMs: number }): { shifted: number } {
  // Exactly the jobs that a worker holds and those that may not wait for ever.
  const shifted = context.sql.run(
    `UPDATE jobs SET created_at = created_at + ?1, claimed_at = claimed_at + ?1, started_at = started_at + ?1,
        heartbeat_at = heartbeat_at + ?1, cancel_requested_at = cancel_requested_at + ?1,
        lease_expires_at = lease_expires_at + ?1, deadline_at = deadline_at + ?1, due_at = due_at + ?1
      WHERE due_at IS NOT NULL`,
    byMs,
  );
  // After an attempt, run_at is the end of the delay before the next one.
  context.sql.run("UPDATE jobs SET run_at = run_at + ? WHERE ready = 0 AND attempt > 0", byMs);
  context.sql.run(
    "UPDATE workers SET last_heartbeat = last_heartbeat + ?1, paused_until = paused_until + ?1",
    byMs,
  );
  forgetJobs(context);
  return { shifted };
}
