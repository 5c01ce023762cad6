// How an attempt is claimed, starts, is renewed, stops and is given back. Why: ADR 0007, ADR 0057.
import { carriedUsage, usageWithEarlier } from "../agents/agent-budget.ts";
import { readinessOf } from "../readiness/readiness.ts";
import type { AttemptReport, Change } from "./change.ts";
import { usageWithRunTime } from "./execution-time.ts";
import { isHubCode, notStarted, sandboxUnavailable } from "./failure.ts";
import type { JobRecord } from "./job.ts";
import { networkDetails } from "./network-details.ts";
import {
  abandon,
  attemptFailed,
  type ChangeRules,
  moved,
  type Outcome,
  refused,
  unleased,
} from "./outcome.ts";
import { parseQueueKey } from "./queue-key.ts";

type MovedOutcome = Extract<Outcome, { kind: "moved" }>;
type EndReport = Extract<Change, { act: "result" | "fail" }>;

/** Long enough for a worker to stop a process tree itself (5 s of grace) and report it before the hub acts. */
const timeoutGraceMs = 6_000;
const releaseDelayMs = 5_000;
const releasesMax = 10;
/** A job whose first moments kill every worker must not cost ten of them before it is charged. */
const lostUnstartedMax = 3;

export function claim(
  job: JobRecord,
  change: { workerId: string; tokenHash: string; keyId?: string | null },
  rules: ChangeRules,
): Outcome {
  const readiness = readinessOf(job, rules.nowMs);
  if (readiness === "held") return refused("STATE_CONFLICT", "somebody holds the job");
  if (readiness !== "now") return refused("STATE_CONFLICT", "the job is not due yet");
  const patch: Partial<JobRecord> = {
    status: "assigned",
    attempt: job.attempt + 1,
    attempts: job.attempts + 1,
    workerId: change.workerId,
    leaseTokenHash: change.tokenHash,
    leaseKeyId: change.keyId ?? null,
    leaseExpiresAt: rules.nowMs + rules.leaseMs,
    deadlineAt: deadline(job, rules),
    claimedAt: rules.nowMs,
    startedAt: null,
    heartbeatAt: null,
    exitCode: null,
    progress: null,
    isolation: null,
    usage: carriedUsage(job),
  };
  return moved(patch, [{ event: "JOB_ASSIGNED", details: {} }]);
}

function deadline(job: JobRecord, rules: ChangeRules): number | null {
  return job.timeoutSec === 0 ? null : rules.nowMs + deadlineMs(job);
}

/** How long the hub waits for an attempt that has a timeout. */
export function deadlineMs({ timeoutSec }: JobRecord): number {
  return timeoutSec * 1000 + timeoutGraceMs;
}

/**
 * The first start begins the attempt's time; a later one only renews the lease. One that the job itself reports does not
 * renew it: a container must not keep a job alive whose worker is gone.
 */
export function start(
  job: JobRecord,
  { isolation, keepsLease = false }: { isolation: string | null; keepsLease?: boolean },
  rules: ChangeRules,
): Outcome {
  if (job.status === "running") return keepsLease ? { kind: "duplicate" } : moved(renewed(job, rules));
  const patch: Partial<JobRecord> = {
    ...(keepsLease ? {} : renewed(job, rules)),
    status: "running",
    startedAt: rules.nowMs,
    // Only a job that was never started expires in the queue; a retry must not.
    queueTtlSec: null,
    deadlineAt: deadline(job, rules),
    isolation,
  };
  return moved(patch, [{ event: "JOB_STARTED", details: {} }]);
}

export function renewed(job: JobRecord, rules: ChangeRules): Partial<JobRecord> {
  return {
    status: job.status,
    heartbeatAt: rules.nowMs,
    leaseExpiresAt: Math.max(job.leaseExpiresAt ?? 0, rules.nowMs + rules.leaseMs),
  };
}

/**
 * The processes of a cancelled attempt are dead. A caller who stopped it need not wait for the rest of its output; the
 * job ends when all of that has arrived.
 */
export function stopped(job: JobRecord, { exitCode }: { exitCode: number }, rules: ChangeRules): Outcome {
  if (job.cancelRequestedAt === null) return refused("STATE_CONFLICT", "the job was not cancelled");
  if (job.exitCode !== null) return { kind: "duplicate" };
  return moved({ ...renewed(job, rules), exitCode }, [
    { event: "JOB_STOPPED", details: { exit_code: exitCode } },
  ]);
}

export function release(job: JobRecord, change: { reason: string }, rules: ChangeRules): Outcome {
  if (job.cancelRequestedAt !== null) return abandon(job, rules);
  if (isSpent(job, change.reason)) return spent(job, change.reason, rules);
  if (job.releases + 1 >= releasesMax) {
    return attemptFailed(job, rules, {
      code: "WORKER_DISCONNECTED",
      detail: null,
      reason: `released ${releasesMax} times, the last time because ${change.reason}`,
      patch: {},
    });
  }
  const { reason } = change;
  return givenBack(job, { reason }, { runAt: runAgainAt(rules), releases: job.releases + 1 });
}

function runAgainAt({ nowMs, backoffScale }: ChangeRules): number {
  return nowMs + Math.round(releaseDelayMs * backoffScale);
}

/** The attempt is not charged. */
function givenBack(
  job: JobRecord,
  details: { reason: string; by?: "hub" },
  patch: { runAt: number; releases?: number },
): Outcome {
  return moved({ ...unleased, status: "pending", attempts: job.attempts - 1, ...patch }, [
    { event: "JOB_RELEASED", details: { ...details, run_at: patch.runAt } },
  ]);
}

/** The only attempt that the job is allowed has begun: a second one would repeat what the first has done. */
function isSpent(job: JobRecord, reason: string): boolean {
  const isUntouched = [sandboxUnavailable, notStarted].some((word) => reason.startsWith(word));
  return job.status === "running" && job.maxAttempts === 1 && !isUntouched;
}

function spent(job: JobRecord, reason: string, rules: ChangeRules): Outcome {
  return attemptFailed(job, rules, {
    code: "WORKER_DISCONNECTED",
    detail: null,
    reason: `its only attempt was ended: ${reason}`,
    patch: {},
  });
}

/**
 * The hub takes the lease back because the key that signed it can no longer be trusted. No worker is at fault, so
 * nothing is charged or counted; the delay gives the worker time to stop the job. A job whose only attempt has begun is
 * over.
 */
export function recall(job: JobRecord, change: { reason: string }, rules: ChangeRules): Outcome {
  return takenBack(job, { reason: change.reason, by: "hub" }, runAgainAt(rules), rules);
}

/**
 * The worker could not verify what it was given. That says nothing about the job, only about the way between hub and worker,
 * so others may have it at once, however often this happens. The worker itself is given nothing for a while.
 */
export function reject(job: JobRecord, { reason }: { reason: string }, rules: ChangeRules): Outcome {
  return takenBack(job, { reason }, rules.nowMs, rules);
}

function takenBack(
  job: JobRecord,
  details: { reason: string; by?: "hub" },
  runAt: number,
  rules: ChangeRules,
): Outcome {
  if (job.cancelRequestedAt !== null) return abandon(job, rules);
  if (isSpent(job, details.reason)) return spent(job, details.reason, rules);
  return givenBack(job, details, { runAt });
}

/**
 * The end of an attempt. A short one is not announced before it has ended: then its start, by the worker's clock, is
 * recorded with its end, and before it. Otherwise there is no record of its start, but the job has the time.
 */
export function endAttempt(job: JobRecord, change: EndReport, rules: ChangeRules): Outcome {
  const judged = change.act === "result" ? result(job, change, rules) : fail(job, change, rules);
  if (judged.kind !== "moved") return judged;
  const end = withNetwork(judged, change);
  if (job.status !== "assigned") return withRunTime(job, end, change.ranMs);
  if (change.startedAt === undefined) return withRunTime(job, withStart(job, end, change), change.ranMs);
  // The two clocks may differ, but it cannot have started before it was claimed, or after its end.
  const startedAt = Math.min(rules.nowMs, Math.max(job.claimedAt ?? rules.nowMs, change.startedAt));
  const details = { status: "running", worker_id: job.workerId };
  const begun = { event: "JOB_STARTED", ts: startedAt, details } as const;
  const patch = { startedAt, queueTtlSec: null, ...end.patch };
  return withRunTime(job, { ...end, patch, events: [begun, ...end.events] }, change.ranMs);
}

/**
 * How long it ran, back from now: the clocks of worker and hub may differ. If that is unknown, as with a simple worker, what
 * has run is taken to have started with its claim. A job that is queued again has no start.
 */
function withStart(job: JobRecord, end: MovedOutcome, change: EndReport): MovedOutcome {
  const { completedAt } = end.patch;
  if (completedAt == null || job.claimedAt === null) return end;
  if (change.ranMs === undefined && !hasRun(change)) return end;
  const ranMs = Math.max(0, change.ranMs ?? Number.POSITIVE_INFINITY);
  return { ...end, patch: { startedAt: Math.max(job.claimedAt, completedAt - ranMs), ...end.patch } };
}

/** What it asked its closed network for is part of the event of its end. */
function withNetwork(end: MovedOutcome, { isolation, usage }: EndReport): MovedOutcome {
  const network = networkDetails(isolation, usage);
  const [first, ...others] = end.events;
  if (network === null || first === undefined) return end;
  return { ...end, events: [{ ...first, details: { ...first.details, network } }, ...others] };
}

/** A worker also reports as failed what it has refused to run. */
function hasRun(change: EndReport): boolean {
  return change.act === "result" || change.code === "EXECUTION_ERROR";
}

/** The hub cannot know how long an attempt ran that started or ended while it was away. */
function withRunTime(job: JobRecord, end: MovedOutcome, ranMs: number | undefined): Outcome {
  if (ranMs === undefined || end.patch.completedAt == null) return end;
  return { ...end, patch: { ...end.patch, usage: usageWithRunTime({ ...job, ...end.patch }, ranMs) } };
}

function result(job: JobRecord, change: Extract<Change, { act: "result" }>, rules: ChangeRules): Outcome {
  if (job.status === "completed") {
    // The texts and not the hashes: earlier hubs stored any hash that a worker sent.
    if (change.result === job.result) return { kind: "duplicate" };
    const sameKey = change.resultKey !== null && change.resultKey === job.resultKey;
    const under = sameKey ? " under the same X-Idempotency-Key" : "";
    return refused("RESULT_CONFLICT", `this attempt has already delivered a different result${under}`);
  }
  const { exitCode } = change;
  const report = reportOf(job, change);
  if (job.cancelRequestedAt !== null) return abandon(job, rules, { ...report, partialResult: change.result });
  return moved(
    {
      ...report,
      status: "completed",
      result: change.result,
      resultHash: change.resultHash,
      resultKey: change.resultKey,
      completedAt: rules.nowMs,
      leaseExpiresAt: null,
      deadlineAt: null,
    },
    [{ event: "JOB_COMPLETED", details: exitCode === null ? {} : { exit_code: exitCode } }],
  );
}

function fail(job: JobRecord, change: Extract<Change, { act: "fail" }>, rules: ChangeRules): Outcome {
  const { code, detail, reason, partialResult, isFinal, retryInSec, lastLine = null } = change;
  const patch = { ...reportOf(job, change), partialResult };
  if (job.cancelRequestedAt !== null) return abandon(job, rules, patch);
  if (isHubCode(code)) {
    const allowed = "report EXECUTION_ERROR or another code, or cancel the job";
    return refused("INVALID_ARGUMENT", `code: only the hub ends a job as ${code}; ${allowed}`);
  }
  return attemptFailed(job, rules, { code, detail, reason, lastLine, patch, isFinal, retryInSec });
}

function reportOf(job: JobRecord, report: AttemptReport): AttemptReport {
  const { exitCode, isolation, usage, outputFiles, receipt } = report;
  return {
    exitCode,
    isolation: isolation ?? job.isolation,
    usage: usageWithEarlier(job, usage),
    outputFiles,
    receipt,
  };
}

/**
 * The worker is lost. Workers hold jobs for their functions ahead, so one that was not started is given back and not charged.
 * That it was not is only likely: the start of a short attempt is not announced. So a job that loses worker after worker is
 * charged in the end, and one that is allowed a single attempt at once.
 */
export function disconnect(job: JobRecord, rules: ChangeRules): Outcome {
  if (job.cancelRequestedAt !== null) return abandon(job, rules);
  const isHeldAhead = job.status === "assigned" && parseQueueKey(job.queueKey).kind === "handler";
  if (isHeldAhead && job.maxAttempts > 1 && job.releases < lostUnstartedMax) {
    const reason = `worker ${job.workerId} was lost before it started the job`;
    return givenBack(job, { reason, by: "hub" }, { runAt: runAgainAt(rules), releases: job.releases + 1 });
  }
  const reason = `worker ${job.workerId} did not renew its lease in time`;
  return attemptFailed(job, rules, { code: "WORKER_DISCONNECTED", detail: null, reason, patch: {} });
}
