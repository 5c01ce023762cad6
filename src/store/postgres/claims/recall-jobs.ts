import type { RecallInput } from "../../store.ts";
import { writeJob } from "../jobs/change-jobs.ts";
import { lockJobs } from "../transaction/lock-jobs.ts";
import type { Transaction } from "../transaction/transaction.ts";

/**
 * Takes leases back without charging attempts. A lease without a recorded key may have been made with any key.
 * Why: ADR 0013.
 */
export async function recallJobs(
  tx: Transaction,
  { leaseKeyId, reason, rules, limit, origin }: RecallInput,
): Promise<{ recalled: number; ended: number; more: boolean }> {
  const held = await tx.sql.all<{ id: string }>(
    `SELECT j.id FROM active s JOIN jobs j USING (seq)
      WHERE $1::text IS NULL OR s.lease_key_id IS NULL OR s.lease_key_id = $1 ORDER BY s.seq LIMIT $2`,
    leaseKeyId,
    limit,
  );
  const jobs = await lockJobs(
    tx,
    held.map(({ id }) => id),
  );
  let ended = 0;
  tx.inBook(() => {
    for (const kept of [...jobs.values()]) {
      const answer = writeJob(tx, jobs, kept, { act: "recall", reason }, { rules, origin });
      if (answer.kind === "moved" && answer.job.status !== "pending") ended++;
    }
  });
  return { recalled: held.length, ended, more: held.length === limit };
}

/** Raises the fence of jobs that no worker holds, so that no future attempt has the number of an earlier one. */
export async function raiseAttempts(tx: Transaction, { by }: { by: number }): Promise<{ raised: number }> {
  let raised = 0;
  for (const place of ["ready", "delayed", "held"])
    raised += await tx.sql.run(`UPDATE ${place} SET attempt = attempt + $1::int`, by);
  return { raised };
}
