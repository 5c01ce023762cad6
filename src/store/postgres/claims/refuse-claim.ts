import { lockWorker } from "../../acts/worker-rows.ts";
import { briefOf } from "../../jobs/job-brief.ts";
import { claimRefused } from "../../log/act-events.ts";
import { isPaused, nextPause } from "../../queues/claim-pause.ts";
import type { ChangeAnswer } from "../../store.ts";
import type { RefusedClaim } from "../../worker-store.ts";
import { driveAct, readDriver, tellWorker } from "../acts/drive-act.ts";
import { writeJob } from "../jobs/change-jobs.ts";
import { lockJobs } from "../transaction/lock-jobs.ts";
import type { Transaction } from "../transaction/transaction.ts";

/**
 * Returns the jobs of a claim that its worker could not verify, and gives that worker nothing for a while.
 * Why: ADR 0099.
 */
export async function refuseClaim(
  tx: Transaction,
  input: RefusedClaim,
): Promise<{ answers: ChangeAnswer[]; pausedUntil: number; isNew: boolean } | null> {
  const { workerId, leases, refusal, rules, origin } = input;
  const worker = await driveAct(tx.sql, lockWorker(readDriver, workerId));
  if (worker === null) return null;
  const jobs = await lockJobs(
    tx,
    leases.map(({ jobId }) => jobId),
  );
  const answers = tx.inBook(() =>
    leases.map(({ jobId, fence }): ChangeAnswer => {
      const kept = jobs.get(jobId);
      if (kept === undefined) return { kind: "unknown" };
      const change = { act: "reject", fence, reason: refusal.reason } as const;
      const answer = writeJob(tx, jobs, kept, change, { rules, origin });
      return answer.kind === "unknown" ? answer : { ...answer, job: briefOf(answer.job) };
    }),
  );
  if (isPaused(worker, rules.nowMs)) return { answers, pausedUntil: worker.pausedUntil!, isNew: false };
  const { refusedClaims, pausedUntil } = nextPause(worker, rules.nowMs);
  tx.send(
    "UPDATE workers SET refused_claims = $1, paused_until = $2 WHERE id = $3",
    refusedClaims,
    pausedUntil,
    workerId,
  );
  tx.log(claimRefused(worker, input, { answers, pausedUntil }));
  tellWorker(tx, workerId);
  return { answers, pausedUntil, isNew: true };
}
