// The events of acts that change no job. Why: ADR 0022.
import type { EventKind, JobEvent, NewEvent, Origin } from "../../core/events.ts";
import type { JobRecord } from "../../core/jobs/job.ts";
import { securityEvent } from "../../core/jobs/outcome.ts";
import type { Quota } from "../../core/jobs/quota.ts";
import type { NewToken, TokenRecord } from "../access-store.ts";
import type { Lockdown } from "../response-store.ts";
import type { ChangeAnswer } from "../store.ts";
import type {
  BlockReason,
  RefusedClaim,
  RemovedWorker,
  WorkerRecord,
  WorkerRegistration,
} from "../worker-store.ts";

/** The events of acts other than those of a job's life: tokens, workers, queues, quotas, the lockdown, a job's removal. */

/** When an act happened, and where the call came from. */
type Occasion = { nowMs: number; origin: Origin | null };
type Happening = { event: EventKind; tenantId: string | null; details: Record<string, unknown> };

function plainEvent({ event, tenantId, details }: Happening, { nowMs, origin }: Occasion): NewEvent {
  return { event, ts: nowMs, tenantId, jobId: null, ownerId: null, details, origin };
}

export function tokenIssued(token: NewToken, origin: Origin | null): NewEvent {
  const { id, role, tenantId, userId, workerId, createdAt: nowMs } = token;
  const event = role === "worker" ? "WORKER_TOKEN_ISSUED" : "TOKEN_ISSUED";
  const details = { token_id: id, role, user_id: userId, worker_id: workerId };
  return plainEvent({ event, tenantId, details }, { nowMs, origin });
}

export function tokenRefreshed(token: NewToken, replaces: string, occasion: Occasion): NewEvent {
  const { id, role, tenantId, userId, workerId } = token;
  const details = { token_id: id, replaces, role, user_id: userId, worker_id: workerId };
  return plainEvent({ event: "TOKEN_REFRESH", tenantId, details }, occasion);
}

export function tokenRevoked({ id, role, tenantId, userId }: TokenRecord, occasion: Occasion): NewEvent {
  const details = { token_id: id, role, user_id: userId };
  return plainEvent({ event: "TOKEN_REVOKED", tenantId, details }, occasion);
}

export function loggedIn(
  { id, tenantId, userId }: Pick<TokenRecord, "id" | "tenantId" | "userId">,
  occasion: Occasion,
): NewEvent {
  const details = { token_id: id, user_id: userId };
  return plainEvent({ event: "LOGIN_SUCCESS", tenantId, details }, occasion);
}

export function workerEvent(
  event: EventKind,
  { id, name, facts }: WorkerRegistration,
  occasion: Occasion,
): NewEvent {
  return plainEvent({ event, tenantId: facts.tenantId, details: { worker_id: id, name } }, occasion);
}

/** `by` tells a worker that has left from one that a person has removed: both make the same call. */
export function workerDeregistered(
  worker: WorkerRecord,
  by: RemovedWorker["by"],
  occasion: Occasion,
): NewEvent {
  const event = workerEvent("WORKER_DEREGISTERED", worker, occasion);
  return { ...event, details: { ...event.details, by } };
}

/** The events when somebody blocks or drains a worker, or ends that; none for what was already so. */
export function workerSetEvents(
  before: WorkerRecord,
  after: WorkerRecord,
  { why, ...occasion }: Occasion & { why?: BlockReason },
): NewEvent[] {
  const events: EventKind[] = [];
  if (after.blocked !== before.blocked) events.push(after.blocked ? "WORKER_BLOCKED" : "WORKER_UNBLOCKED");
  if (after.draining !== before.draining) events.push(after.draining ? "WORKER_DRAINED" : "WORKER_UNDRAINED");
  return events.map((event) => {
    const made = workerEvent(event, after, occasion);
    return event === "WORKER_BLOCKED" ? { ...made, details: { ...made.details, ...why } } : made;
  });
}

/** How many jobs are named one by one in a record. */
const namedMax = 10;

/** A worker could not verify a claim. Of the jobs in it, those that did not arrive as the hub has them are named. */
export function claimRefused(
  { id, facts }: WorkerRecord,
  { leases, refusal, rules, origin }: RefusedClaim,
  { answers, pausedUntil }: { answers: ChangeAnswer[]; pausedUntil: number },
): NewEvent {
  const altered = leases.filter(({ documentSha256 }, index) => {
    const answer = answers[index]!;
    return (
      answer.kind === "moved" && (documentSha256 ?? answer.job.documentSha256) !== answer.job.documentSha256
    );
  });
  const details = {
    violation_type: refusal.detail,
    worker_id: id,
    error: refusal.reason,
    jobs: leases.length,
    returned: answers.filter(({ kind }) => kind === "moved").length,
    job_ids: leases.slice(0, namedMax).map(({ jobId }) => jobId),
    altered_jobs: altered.slice(0, namedMax).map(({ jobId }) => jobId),
    ...refusal.evidence,
    paused_until: pausedUntil,
  };
  const event = securityEvent(refusal.detail);
  return plainEvent({ event, tenantId: facts.tenantId, details }, { nowMs: rules.nowMs, origin });
}

/** The last event of a job, which is deleted with it. */
export function jobRemoved(
  job: Pick<JobRecord, "id" | "tenantId" | "userId" | "type" | "status" | "failCode" | "eventCount">,
  nowMs: number,
): JobEvent {
  const { id: jobId, tenantId, userId: ownerId, type, status, failCode } = job;
  const details = { type, status, ...(failCode === null ? {} : { fail_code: failCode }) };
  const jobSeq = job.eventCount + 1;
  return { event: "JOB_REMOVED", ts: nowMs, tenantId, jobId, ownerId, jobSeq, details, origin: null };
}

export function quotaChanged(tenantId: string, quota: Quota, occasion: Occasion): NewEvent {
  return plainEvent({ event: "QUOTA_CHANGED", tenantId, details: { ...quota } }, occasion);
}

export function queuePaused(type: string, paused: boolean, occasion: Occasion): NewEvent {
  const event = paused ? "QUEUE_PAUSED" : "QUEUE_RESUMED";
  return plainEvent({ event, tenantId: null, details: { type } }, occasion);
}

export function lockedDown(reason: string, workers: number, occasion: Occasion): NewEvent {
  return plainEvent({ event: "LOCKDOWN", tenantId: null, details: { reason, workers } }, occasion);
}

export function tenantLocked(tenantId: string, reason: string, occasion: Occasion): NewEvent {
  return plainEvent({ event: "TENANT_LOCKED", tenantId, details: { reason } }, occasion);
}

/** Of the hub, or of one tenant. */
export function lockdownLifted(
  { reason, since, tenantId = null }: Lockdown & { tenantId?: string | null },
  occasion: Occasion,
): NewEvent {
  return plainEvent({ event: "LOCKDOWN_LIFTED", tenantId, details: { reason, since } }, occasion);
}
