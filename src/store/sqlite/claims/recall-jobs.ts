import type { RecallInput } from "../../store.ts";
import { type Context, forgetJobs } from "../context.ts";
import { loadJobs } from "../jobs/job-row.ts";
import { writeJob } from "../jobs/write-job.ts";

/**
 * Takes leases back without charging attempts. A lease without a recorded key may have been made with any key.
 * Why: ADR 0013.
 */
export function recallJobs(
  context: Context,
  input: RecallInput,
): { recalled: number; ended: number; more: boolean } {
  const { leaseKeyId, reason, rules, limit, origin } = input;
  const held = loadJobs(
    context,
    `WHERE due_at IS NOT NULL AND status IN ('assigned', 'running')
      AND (?1 IS NULL OR lease_key_id IS NULL OR lease_key_id = ?1) ORDER BY seq LIMIT ?2`,
    leaseKeyId,
    limit,
  );
  let ended = 0;
  for (const job of held) {
    const answer = writeJob(context, job, { act: "recall", reason }, { rules, origin });
    if (answer.kind === "moved" && answer.job.status !== "pending") ended++;
  }
  return { recalled: held.length, ended, more: held.length === limit };
}

/** Raises the fence of jobs that nobody holds, so that no future attempt has the number of an earlier one. */
export function raiseAttempts(context: Context, { by }: { by: number }): { raised: number } {
  forgetJobs(context);
  return { raised: context.sql.run("UPDATE jobs SET attempt = attempt + ? WHERE status = 'pending'", by) };
}
