import type { RecallInput } from "../store.ts";
import type { Context } from "./context.ts";
import { loadJobs } from "./job-row.ts";
import { writeJob } from "./write-job.ts";

/** Takes leases back without charge. A lease from before the keys were noted may have been made with any of them. */
export function recallJobs(context: Context, input: RecallInput): { recalled: number; more: boolean } {
  const { leaseKeyId, reason, rules, limit, origin } = input;
  const held = loadJobs(
    context,
    `WHERE due_at IS NOT NULL AND status IN ('assigned', 'running')
      AND (?1 IS NULL OR lease_key_id IS NULL OR lease_key_id = ?1) ORDER BY seq LIMIT ?2`,
    leaseKeyId,
    limit,
  );
  for (const job of held) writeJob(context, job, { act: "recall", reason }, { rules, origin });
  return { recalled: held.length, more: held.length === limit };
}

/** The fence of jobs that nobody holds goes up, so that no attempt to come bears the number of one that was. */
export function raiseAttempts(context: Context, { by }: { by: number }): { raised: number } {
  return { raised: context.sql.run("UPDATE jobs SET attempt = attempt + ? WHERE status = 'pending'", by) };
}
