import type { ErrorCode } from "../errors.ts";
import type { EventKind } from "../events.ts";
import type { FailureClass } from "./failure.ts";
import { isStoppedOverdue, overdueReason } from "./finish-by.ts";
import { type FailureEntry, isEnded, type JobRecord } from "./job.ts";
import { decideRetry } from "./retry.ts";

/** The settings and the time for judging a change. */
export type ChangeRules = {
  nowMs: number;
  leaseMs: number;
  backoffScale: number;
  /** Workers could not renew, and have not had the time for it since: no lease expires by the clock. */
  areRenewalsRefused?: boolean;
};

/** `ts` is when it happened, if that was before the change. */
type ChangeEvent = { event: EventKind; ts?: number; details: Record<string, unknown> };

/** The outcome of a change: a patch with its events, nothing because it was done before, or a refusal. */
export type Outcome =
  | { kind: "moved"; patch: Partial<JobRecord>; events: ChangeEvent[] }
  | { kind: "duplicate" }
  | { kind: "refused"; code: ErrorCode; message: string };

export function moved(patch: Partial<JobRecord>, events: ChangeEvent[] = []): Outcome {
  return { kind: "moved", patch, events };
}

export function refused(code: ErrorCode, message: string): Outcome {
  return { kind: "refused", code, message };
}

export function conflict(job: JobRecord, act: string): Outcome {
  return refused(
    "STATE_CONFLICT",
    `${act} is not possible: the job is ${isEnded(job.status) ? "already " : ""}${job.status}`,
  );
}

/** The fields that are reset when no worker holds the job. */
export const unleased = {
  workerId: null,
  leaseTokenHash: null,
  leaseKeyId: null,
  leaseExpiresAt: null,
  deadlineAt: null,
  claimedAt: null,
  startedAt: null,
  heartbeatAt: null,
  progress: null,
} as const satisfies Partial<JobRecord>;

/**
 * The worker of a cancelled job has confirmed it, or has not answered in time. Either way the job ends and is not
 * queued again.
 */
export function abandon(job: JobRecord, rules: ChangeRules, patch: Partial<JobRecord> = {}): Outcome {
  if (isStoppedOverdue(job)) return ended(job, rules, { code: "EXPIRED", reason: overdueReason }, patch);
  return ended(job, rules, { code: "CANCELLED", reason: "cancelled", failReason: "cancelled" }, patch);
}

type Failure = {
  code: FailureClass;
  detail?: string | null;
  reason: string;
  failReason?: string;
  lastLine?: string | null;
};

export function attemptFailed(
  job: JobRecord,
  rules: ChangeRules,
  failed: Failure & {
    patch: Partial<JobRecord>;
    isFinal?: boolean | undefined;
    /** The delay that the attempt asked for. */
    retryInSec?: number | undefined;
  },
): Outcome {
  if (failed.isFinal) return ended(job, rules, failed, failed.patch);
  const { code, detail = null, retryInSec, patch: report } = failed;
  const decision = decideRetry(
    job,
    { code, detail, exitCode: report.exitCode, retryInSec },
    rules.backoffScale,
  );
  if (decision.kind !== "retry") {
    return ended(job, rules, { ...failed, failReason: decision.reason }, failed.patch, decision.kind);
  }
  const runAt = rules.nowMs + decision.delayMs;
  const patch: Partial<JobRecord> = {
    ...failed.patch,
    ...unleased,
    status: "pending",
    runAt,
    timeoutSec: decision.timeoutSec,
    retryCounts: { ...job.retryCounts, [failed.code]: decision.count },
    failHistory: [...job.failHistory, historyEntry(job, rules, failed)],
  };
  const details = {
    fail_code: failed.code,
    fail_detail: failed.detail ?? null,
    reason: failed.reason,
    error: failed.reason,
    run_at: runAt,
  };
  return moved(patch, [{ event: "JOB_RETRYING", details }]);
}

export function ended(
  job: JobRecord,
  rules: ChangeRules,
  failure: Failure,
  patch: Partial<JobRecord> = {},
  status: "failed" | "quarantined" = "failed",
): Outcome {
  const { code, detail = null, reason } = failure;
  // A job that was cancelled has no error.
  const error = code === "CANCELLED" ? {} : { error: reason };
  const details = { fail_code: code, fail_detail: detail, reason, ...error };
  const events: ChangeEvent[] = [{ event: status === "failed" ? "JOB_FAILED" : "JOB_QUARANTINED", details }];
  if (code === "SECURITY_VIOLATION") {
    events.push({ event: securityEvent(detail), details: { violation_type: detail, ...error } });
  }
  return moved(
    {
      ...patch,
      ...(job.heldAt === null ? {} : { heldAt: null }),
      status,
      completedAt: rules.nowMs,
      leaseTokenHash: null,
      leaseExpiresAt: null,
      deadlineAt: null,
      failReason: failure.failReason ?? code,
      failCode: code,
      failDetail: detail,
      failHistory: [...job.failHistory, historyEntry(job, rules, failure)],
    },
    events,
  );
}

/** Which failures are violations for the audit trail. */
export function securityEvent(detail: string | null): EventKind {
  return detail === "INVALID_SIGNATURE" || detail === "PATH_TRAVERSAL_ATTEMPT"
    ? detail
    : "SECURITY_VIOLATION";
}

function historyEntry(job: JobRecord, rules: ChangeRules, failure: Failure): FailureEntry {
  return {
    reason: failure.reason,
    code: failure.code,
    detail: failure.detail ?? null,
    worker_id: job.workerId,
    attempt: job.attempt,
    ts: rules.nowMs,
    ...(failure.lastLine ? { last_line: failure.lastLine } : {}),
  };
}
