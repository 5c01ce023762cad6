import { lockWorker } from "../../acts/worker-rows.ts";
import { briefOf } from "../../jobs/job-brief.ts";
import { claimRefused } from "../../log/act-events.ts";
import { isPaused, nextPause } from "../../queues/claim-pause.ts";
import type { ChangeAnswer } from "../../store.ts";
import type { RefusedClaim } from "../../worker-store.ts";
import { driveAct, readDriver } from "../acts/drive-act.ts";
import type { Context } from "../context.ts";
import { changeJob } from "../jobs/change-jobs.ts";
import { appendEvent } from "../log/event-log.ts";

/**
 * Returns the jobs of a claim that its worker could not verify, and gives that worker nothing for a while.
 * Why: ADR 0099.
 */
export function refuseClaim(
  context: Context,
  input: RefusedClaim,
): { answers: ChangeAnswer[]; pausedUntil: number; isNew: boolean } | null {
  const { workerId, leases, refusal, rules, origin } = input;
  const worker = driveAct(context.sql, lockWorker(readDriver(context), workerId));
  if (worker === null) return null;
  const answers = leases.map(({ jobId, fence }): ChangeAnswer => {
    const change = { act: "reject", fence, reason: refusal.reason } as const;
    const answer = changeJob(context, { jobId, change }, { rules, origin });
    return answer.kind === "unknown" ? answer : { ...answer, job: briefOf(answer.job) };
  });
  if (isPaused(worker, rules.nowMs)) return { answers, pausedUntil: worker.pausedUntil!, isNew: false };
  const { refusedClaims, pausedUntil } = nextPause(worker, rules.nowMs);
  context.sql.run(
    "UPDATE workers SET refused_claims = ?, paused_until = ? WHERE id = ?",
    refusedClaims,
    pausedUntil,
    workerId,
  );
  appendEvent(context, claimRefused(worker, input, { answers, pausedUntil }));
  context.notice.worker(workerId);
  return { answers, pausedUntil, isNew: true };
}
