import { getWorker, lockWorker, statusNow } from "../../acts/worker-rows.ts";
import { claimRefused } from "../../log/act-events.ts";
import { isPaused, nextPause } from "../../queues/claim-pause.ts";
import type { ChangeAnswer } from "../../store.ts";
import {
  type HeartbeatAnswer,
  type HeartbeatInput,
  heartbeatAnswer,
  type RefusedClaim,
  type SignOfLife,
} from "../../worker-store.ts";
import type { Context } from "../context.ts";
import { briefAnswer, changeJob } from "../jobs/change-jobs.ts";
import { appendEvent } from "../log/append-event.ts";
import { driveAct, readDriver } from "./drive-act.ts";

/** Renews exactly the leases listed; a lease that the worker does not know must expire. Why: ADR 0095. */
export function heartbeatWorker(context: Context, input: HeartbeatInput): HeartbeatAnswer | null {
  const { workerId, capabilities, rules } = input;
  const worker = driveAct(context.sql, getWorker(readDriver(context), { workerId }));
  if (worker === null) return null;
  context.sql.run(
    `UPDATE workers SET last_heartbeat = ?, status = ${statusNow}, facts = ? WHERE id = ?`,
    rules.nowMs,
    JSON.stringify(capabilities === null ? worker.facts : { ...worker.facts, capabilities }),
    workerId,
  );
  const renewals = input.leases.map(({ jobId, fence, usage }) => {
    const change = { act: "renew", fence, usage } as const;
    const answer = changeJob(context, { jobId, change }, { rules, origin: null });
    return { jobId, renewed: answer.kind === "moved" ? answer.job : null };
  });
  return heartbeatAnswer(worker, renewals);
}

export function noteSignsOfLife(context: Pick<Context, "sql">, { signs }: { signs: SignOfLife[] }): void {
  context.sql.run(
    `UPDATE workers SET last_heartbeat = max(last_heartbeat, heard.at), status = ${statusNow}
      FROM (SELECT value ->> 'workerId' AS id, value ->> 'atMs' AS at FROM json_each(?)) AS heard
      WHERE workers.id = heard.id`,
    JSON.stringify(signs),
  );
}

/** Returns the jobs of a claim that its worker could not verify, and gives that worker nothing for a while. Why: ADR 0099. */
export function refuseClaim(
  context: Context,
  input: RefusedClaim,
): { answers: ChangeAnswer[]; pausedUntil: number; isNew: boolean } | null {
  const { workerId, leases, refusal, rules, origin } = input;
  const worker = driveAct(context.sql, lockWorker(readDriver(context), workerId));
  if (worker === null) return null;
  const answers = leases.map(({ jobId, fence }): ChangeAnswer => {
    const change = { act: "reject", fence, reason: refusal.reason } as const;
    return briefAnswer(changeJob(context, { jobId, change }, { rules, origin }));
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
