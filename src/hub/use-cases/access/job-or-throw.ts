import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { isClaimDetail } from "../../../core/jobs/failure.ts";
import { securityEvent } from "../../../core/jobs/outcome.ts";
import type { ChangeAnswer, JobBrief, JobChange } from "../../../store/store.ts";
import type { Refusal } from "../../audit/refusal-log.ts";
import type { HubDeps } from "../../deps.ts";
import { isHidden } from "./tenant-wall.ts";
import { unknownJob } from "./unknown-job.ts";

type ChangeCall = JobChange & { identity: Identity; origin: Origin };

/** The job after the change, or the refusal as an error. A stale call, or a second result, is recorded. */
export async function jobOrThrow(deps: HubDeps, call: ChangeCall, answer: ChangeAnswer): Promise<JobBrief> {
  if (answer.kind === "unknown") throw await unknownJob(deps, call);
  if (answer.kind !== "refused") return answer.job;
  if (isHidden(call.identity, answer.job)) throw await unknownJob(deps, call);
  if (answer.code === "LEASE_LOST") await noteStale(deps, call, answer.job);
  if (answer.code === "RESULT_CONFLICT") await noteConflict(deps, call, answer.job);
  throw new WritError(answer.code, answer.message);
}

async function noteStale(deps: HubDeps, call: ChangeCall, job: JobBrief): Promise<void> {
  const { change } = call;
  const fence = "fence" in change ? change.fence : null;
  await noteViolation(deps, call, job);
  await record(deps, call, job, {
    event: "STALE_RESULT_REJECTED",
    details: {
      act: change.act,
      worker_id: fence?.workerId ?? null,
      attempt: fence?.attempt ?? null,
      current_attempt: job.attempt,
    },
  });
}

/** The first result stays, but a different one that was sent with the same lease is recorded. */
async function noteConflict(deps: HubDeps, call: ChangeCall, job: JobBrief): Promise<void> {
  const { change } = call;
  if (change.act !== "result") return;
  await record(deps, call, job, {
    event: "CONFLICTING_RESULT_REJECTED",
    details: {
      worker_id: change.fence.workerId,
      attempt: job.attempt,
      refused_result_hash: change.resultHash,
      idempotency_key: change.resultKey,
    },
  });
}

/**
 * A worker that received a replayed or stolen claim reports it for an attempt that is not its own; the job stays as it
 * is, and the report is recorded.
 */
async function noteViolation(deps: HubDeps, call: ChangeCall, job: JobBrief): Promise<void> {
  const { jobId, change } = call;
  // A problem of a claim is recorded with the claim.
  if (change.act !== "fail" || change.code !== "SECURITY_VIOLATION" || isClaimDetail(change.detail)) return;
  await record(deps, call, job, {
    event: securityEvent(change.detail),
    details: {
      violation_type: change.detail,
      job_id: jobId,
      worker_id: change.fence.workerId,
      attempt: change.fence.attempt,
      error: change.reason,
    },
  });
}

function record(
  { refusals }: HubDeps,
  { identity, jobId, origin }: ChangeCall,
  { tenantId }: JobBrief,
  what: Pick<Refusal, "event" | "details">,
): Promise<void> {
  return refusals.record({
    ...what,
    caller: identity.tokenId,
    subject: jobId,
    tenantId,
    jobId,
    origin,
  });
}
