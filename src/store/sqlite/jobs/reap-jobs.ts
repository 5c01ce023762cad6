import { dueAt, graced } from "../../../core/jobs/due.ts";
import type { ChangeRules } from "../../../core/jobs/outcome.ts";
import { type Context, forgetJobs } from "../context.ts";
import { loadJobs } from "./job-row.ts";
import { writeJob } from "./write-job.ts";

/** Ends what is due: jobs that are expired, timed out, lost or abandoned. Why: ADR 0007. */
export function reapJobs(
  context: Context,
  { rules, limit }: { rules: ChangeRules; limit: number },
): { reaped: number; more: boolean } {
  const due = loadJobs(context, "WHERE due_at <= ? ORDER BY due_at LIMIT ?", rules.nowMs, limit);
  let reaped = 0;
  for (const job of due) {
    const answer = writeJob(context, job, { act: "due" }, { rules, origin: null });
    if (answer.kind === "moved") reaped++;
    // The due time was computed with another lease time; unless it is updated, it would block the jobs behind it.
    else context.sql.run("UPDATE jobs SET due_at = ? WHERE seq = ?", dueAt(job, rules.leaseMs), job.seq);
  }
  return { reaped, more: due.length === limit };
}

/**
 * After a restart, when nobody could renew, every lease and deadline lasts at least one more full lease. If the clock was
 * set back meanwhile, no moment that has passed is in the future.
 */
export function graceLeases(
  context: Context,
  input: { nowMs: number; leaseMs: number },
): { extended: string[] } {
  const { sql } = context;
  const held = loadJobs(context, "WHERE due_at IS NOT NULL AND status IN ('assigned', 'running')");
  for (const job of held) {
    const { leaseExpiresAt, deadlineAt, cancelRequestedAt, dueAt } = graced(job, input);
    sql.run(
      "UPDATE jobs SET lease_expires_at = ?, deadline_at = ?, cancel_requested_at = ?, due_at = ? WHERE seq = ?",
      leaseExpiresAt,
      deadlineAt,
      cancelRequestedAt,
      dueAt,
      job.seq,
    );
  }
  sql.run(
    `UPDATE jobs SET created_at = ?1, due_at = ?1 + queue_ttl_sec * 1000
      WHERE due_at IS NOT NULL AND status = 'pending' AND created_at > ?1`,
    input.nowMs,
  );
  sql.run("UPDATE workers SET last_heartbeat = ?1 WHERE last_heartbeat > ?1", input.nowMs);
  forgetJobs(context);
  return { extended: held.map(({ id }) => id) };
}
