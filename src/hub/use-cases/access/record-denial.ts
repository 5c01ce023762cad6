import { WritError } from "../../../core/errors.ts";
import type { EventKind, Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { HubDeps } from "../../deps.ts";
import { callerOf } from "./caller-of.ts";
import { checkRate } from "./check-rate.ts";
import { traversalAttempt } from "./parse-shape.ts";

type Deps = Pick<HubDeps, "store" | "clock" | "limits" | "refusals" | "feed" | "workers" | "logger">;
type Caller = { identity: Identity; origin: Origin };

/** A caller that is denied more often than this is probing. */
const denialsPerMinute = 100;
/** How many events since the start of the call are searched for its record. */
const evidenceReadMax = 500;

/**
 * Records every denial in the audit trail once, and every path that tried to leave its root: a transport calls this where errors
 * pass. Returns the error to answer with, which is RATE_LIMITED once this caller has been denied too often.
 * Why: ADR 0026, ADR 0066.
 */
export async function recordDenial(deps: Deps, call: Caller, error: unknown): Promise<unknown> {
  if (!(error instanceof WritError)) return error;
  const isTraversal = error.details?.["violation_type"] === traversalAttempt;
  if (error.code !== "PERMISSION_DENIED" && !isTraversal) return error;
  try {
    await checkDenials(deps, call);
  } catch (limited) {
    return limited;
  }
  await (isTraversal ? recordTraversal(deps, call, error) : write(deps, call, error));
  return error;
}

/**
 * Records the caller of such a path, and blocks no worker: a person may have made a mistake, and no worker had the job
 * yet. Each path is a subject of its own, so the first few in a minute are recorded whole and the rest is counted.
 */
async function recordTraversal(deps: Deps, call: Caller, error: WritError): Promise<void> {
  const { role, tokenId } = call.identity;
  const { paths, fields } = error.details ?? {};
  await deps.refusals.record({
    event: traversalAttempt,
    ...whose(call, [JSON.stringify(paths)]),
    jobId: null,
    details: {
      violation_type: traversalAttempt,
      role,
      token_id: tokenId,
      error: error.message,
      paths,
      fields,
    },
  });
}

function checkDenials(deps: Deps, { identity, origin }: Caller): Promise<void> {
  return checkRate(deps, {
    limit: "denials",
    subject: callerOf({ identity, origin }),
    perSecond: denialsPerMinute / 60,
    burst: denialsPerMinute,
    tenantId: identity.tenantId,
    origin,
    refusal: `a caller may be denied ${denialsPerMinute} times a minute`,
  });
}

async function write(deps: Deps, call: Caller, error: WritError): Promise<void> {
  const jobId = (error.details?.["job_id"] as string | undefined) ?? null;
  const boundTo = (error.details?.["token_worker_id"] as string | undefined) ?? null;
  if (boundTo !== null) return recordStrayToken(deps, call, { workerId: boundTo, error: error.message });
  await deps.refusals.record({
    event: "PERMISSION_DENIED",
    ...whose(call, [jobId, error.message]),
    jobId,
    details: {
      role: call.identity.role,
      error: error.message,
      ...(jobId === null ? {} : { job_id: jobId }),
    },
  });
}

/**
 * A token that was made for one worker has leaked, or its worker is lying: both count as evidence against that worker.
 */
async function recordStrayToken(
  deps: Deps,
  call: Caller,
  { workerId, error }: { workerId: string; error: string },
): Promise<void> {
  const afterSeq = deps.feed.lastSeq;
  await deps.refusals.record({
    event: "SECURITY_VIOLATION",
    ...whose(call, []),
    jobId: null,
    details: {
      violation_type: "TOKEN_OUTSIDE_WORKER",
      worker_id: workerId,
      evidence_against: workerId,
      token_id: call.identity.tokenId,
      error,
    },
  });
  await blockAtOnce(deps, { workerId, error, afterSeq });
}

/**
 * Blocks the worker before the call is answered. The responder would do it within a second, which is long enough for a
 * thief of the token to claim jobs and forge their results.
 */
async function blockAtOnce(
  deps: Deps,
  { workerId, error, afterSeq }: { workerId: string; error: string; afterSeq: number },
): Promise<void> {
  const kinds: EventKind[] = ["SECURITY_VIOLATION"];
  const events = await deps.store.readEvents({ afterSeq, kinds, limit: evidenceReadMax });
  // A refusal that was only counted has no record of its own.
  const evidence = events.findLast(({ details }) => details["evidence_against"] === workerId);
  const why = {
    reason: `SECURITY_VIOLATION: ${error}`,
    ...(evidence === undefined ? {} : { evidence: evidence.seq }),
  };
  const isNew = await deps.store.blockWorker({ workerId, why, nowMs: deps.clock.nowMs() });
  deps.workers.forget(workerId);
  if (isNew)
    deps.logger.warn({ worker: workerId }, "a worker was blocked because its token was used for another");
}

/**
 * Records a call about a job that does not exist or that belongs to another tenant. A caller must not be able to tell
 * the two apart by the answer, by the time that it takes, or in its own audit trail. So both are recorded alike, and
 * nothing is written to the job.
 */
export async function recordUnknownJob(
  deps: Pick<HubDeps, "refusals">,
  call: Caller & { jobId: string },
): Promise<void> {
  const { identity, jobId } = call;
  if (identity.tenantId === null) return;
  await deps.refusals.record({
    event: "PERMISSION_DENIED",
    ...whose(call, [jobId]),
    jobId: null,
    details: { role: identity.role, error: "the tenant has no such job", job_id: jobId },
  });
}

function whose({ identity, origin }: Caller, about: (string | null)[]) {
  const subject = [origin.method, origin.endpoint, ...about].join(" ");
  return { caller: callerOf({ identity, origin }), subject, tenantId: identity.tenantId, origin };
}
