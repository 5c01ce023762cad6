import { dueAt, graced } from "../../../core/jobs/due.ts";
import type { ChangeRules } from "../../../core/jobs/outcome.ts";
import { lockAllWorkersText } from "../acts/worker-row.ts";
import { lockJobs } from "../transaction/lock-jobs.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { writeJob } from "./change-jobs.ts";
import { readKept, recordColumns, recordFrom } from "./job-row.ts";

const dueIn = (place: string): string =>
  `(SELECT seq, due_at FROM ${place} WHERE due_at <= $1 ORDER BY due_at LIMIT $2)`;

const dueText = `SELECT j.id FROM (
    ${dueIn("active")} UNION ALL ${dueIn("ready")} UNION ALL ${dueIn("delayed")} UNION ALL ${dueIn("held")}
  ) AS due JOIN jobs j USING (seq) ORDER BY due.due_at LIMIT $2`;

/** Ends what is due: jobs that are expired, timed out, lost or abandoned. Why: ADR 0083. */
export async function reapJobs(
  tx: Transaction,
  { rules, limit }: { rules: ChangeRules; limit: number },
): Promise<{ reaped: number; more: boolean }> {
  const due = (await tx.sql.all<{ id: string }>(dueText, rules.nowMs, limit)).map(({ id }) => id);
  const jobs = await lockJobs(tx, due);
  const reaped = tx.inBook(() => {
    let moved = 0;
    for (const id of due) {
      const kept = jobs.get(id);
      if (kept === undefined) continue;
      const answer = writeJob(tx, jobs, kept, { act: "due" }, { rules, origin: null });
      if (answer.kind === "moved") moved++;
      // The due time was computed with another lease time; unless it is updated, it would block the jobs behind it.
      else if (kept.place !== "ended") tx.work.put(kept, { ...kept, dueAt: dueAt(kept.job, rules.leaseMs) });
    }
    return moved;
  });
  return { reaped, more: due.length === limit };
}

/**
 * After a restart, when no worker could renew, every lease and deadline lasts at least one more full lease. If the clock was
 * set back meanwhile, no moment that has passed is in the future.
 */
export async function graceLeases(
  tx: Transaction,
  input: { nowMs: number; leaseMs: number },
): Promise<{ extended: string[] }> {
  await tx.sql.run(lockAllWorkersText);
  const rows = await tx.sql.rows(
    `SELECT ${recordColumns} FROM ${recordFrom("active")} ORDER BY j.seq FOR UPDATE OF s`,
  );
  const held = rows.map((row) => readKept(row, "active"));
  for (const kept of held) {
    const { dueAt: due, ...times } = graced(kept.job, input);
    tx.work.put(kept, { ...kept, job: { ...kept.job, ...times }, dueAt: due });
  }
  for (const place of ["ready", "delayed", "held"])
    tx.send(
      `UPDATE ${place} SET created_at = $1::bigint, due_at = due_at - (created_at - $1::bigint),
          run_at = CASE WHEN run_at = created_at THEN $1::bigint ELSE run_at END
        WHERE due_at IS NOT NULL AND created_at > $1::bigint`,
      input.nowMs,
    );
  tx.send("UPDATE workers SET last_heartbeat = $1 WHERE last_heartbeat > $1", input.nowMs);
  return { extended: held.map(({ job }) => job.id) };
}
