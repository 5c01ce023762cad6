import {
  chanceOf,
  isDecidedByPolicy,
  isRetried,
  maxRetries,
  policyDelayMs,
  type RetryPolicy,
  retriesUsed,
} from "../retry/retry-policy.ts";
import { type FailureClass, failureClasses } from "./failure.ts";
import type { JobRecord } from "./job.ts";
import { termsOf } from "./terms.ts";

type RetryDecision =
  | { kind: "retry"; delayMs: number; timeoutSec: number; count: number }
  | { kind: "failed"; reason: string }
  | { kind: "quarantined"; reason: string };

const timeoutSecMax = 3600;
/** Reached only by a job that chose many attempts: the delay grows with each. */
const delayMsMax = 3_600_000;

/** How an attempt failed. `retryInSec` is the delay that it asked for. */
export type FailedAttempt = {
  code: FailureClass;
  detail?: string | null;
  exitCode?: number | null | undefined;
  retryInSec?: number | undefined;
};

/**
 * Whether a failed attempt is retried. Some classes never are. For the others, a job has its total of attempts; unless
 * its producer chose that total, each class also has a limit of its own. A policy of the job has a limit for timeouts and errors
 * together. A job with only one attempt was not meant to be retried, so it ends as failed and not in the dead-letter queue.
 * Why: ADR 0129.
 */
export function decideRetry(job: JobRecord, failed: FailedAttempt, backoffScale: number): RetryDecision {
  const { code } = failed;
  const { retries } = failureClasses[code];
  if (retries === 0) return { kind: "failed", reason: code };
  const policy = isDecidedByPolicy(code) ? termsOf(job).retry : undefined;
  const decision = policy === undefined ? byTable(job, code) : byPolicy(job, failed, policy);
  if (decision.kind !== "retry") return decision;
  const delayMs = failed.retryInSec === undefined ? decision.delayMs : failed.retryInSec * 1000;
  return { ...decision, delayMs: Math.round(delayMs * backoffScale) };
}

function byPolicy(job: JobRecord, failed: FailedAttempt, policy: RetryPolicy): RetryDecision {
  const { code, detail = null, exitCode = null } = failed;
  const max = maxRetries(policy);
  if (max === 0 || !isRetried(policy, { code, detail, exitCode })) return { kind: "failed", reason: code };
  const used = retriesUsed(job.retryCounts);
  if (used >= max || job.attempts >= job.maxAttempts) return exhausted(job, code);
  return {
    kind: "retry",
    count: (job.retryCounts[code] ?? 0) + 1,
    delayMs: policyDelayMs(policy, used + 1, chanceOf(job.id, job.attempt)),
    timeoutSec: job.timeoutSec,
  };
}

function byTable(job: JobRecord, code: FailureClass): RetryDecision {
  const { retries, delayMs } = failureClasses[code];
  const used = job.retryCounts[code] ?? 0;
  if ((job.attemptsChosen || used < retries) && job.attempts < job.maxAttempts) {
    const count = used + 1;
    return {
      kind: "retry",
      count,
      delayMs: Math.min(delayMs * count, delayMsMax),
      timeoutSec: nextTimeoutSec(job, code),
    };
  }
  return exhausted(job, code);
}

function exhausted(job: JobRecord, code: FailureClass): RetryDecision {
  if (job.maxAttempts === 1) return { kind: "failed", reason: code };
  return { kind: "quarantined", reason: `${code}_RETRY_EXHAUSTED` };
}

function nextTimeoutSec(job: JobRecord, code: FailureClass): number {
  return code === "TIMEOUT" ? doubled(job.timeoutSec, job.documentTimeoutSec) : job.timeoutSec;
}

function doubled(timeoutSec: number, documentTimeoutSec: number): number {
  return Math.min(timeoutSec * 2, Math.max(timeoutSecMax, documentTimeoutSec));
}

/** Whether retries can have led from the timeout in the document to the one that the job has now. */
export function isTimeoutOfRetries(job: Pick<JobRecord, "timeoutSec" | "documentTimeoutSec">): boolean {
  let timeoutSec = job.documentTimeoutSec;
  // It doubles until it reaches its maximum, so this is a dozen steps at most.
  while (timeoutSec < job.timeoutSec) {
    const next = doubled(timeoutSec, job.documentTimeoutSec);
    if (next === timeoutSec) return false;
    timeoutSec = next;
  }
  return timeoutSec === job.timeoutSec;
}
