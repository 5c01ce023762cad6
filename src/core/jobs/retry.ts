import { type FailureClass, failureClasses } from "./failure.ts";
import type { JobRecord } from "./job.ts";

type RetryDecision =
  | { kind: "retry"; delayMs: number; timeoutSec: number; count: number }
  | { kind: "failed"; reason: string }
  | { kind: "quarantined"; reason: string };

const timeoutSecMax = 3600;
/** Reached only by a job that chose many attempts: the delay grows with each. */
const delayMsMax = 3_600_000;

/**
 * Whether a failed attempt is retried. Some classes never are. For the others, a job has its total of attempts; unless
 * its producer chose that total, each class also has a limit of its own. A job with only one attempt was not meant to be
 * retried, so it ends as failed and not in the dead-letter queue.
 */
export function decideRetry(job: JobRecord, code: FailureClass, backoffScale: number): RetryDecision {
  const { retries, delayMs } = failureClasses[code];
  if (retries === 0) return { kind: "failed", reason: code };

  const used = job.retryCounts[code] ?? 0;
  if ((job.attemptsChosen || used < retries) && job.attempts < job.maxAttempts) {
    const count = used + 1;
    return {
      kind: "retry",
      count,
      delayMs: Math.round(Math.min(delayMs * count, delayMsMax) * backoffScale),
      timeoutSec: nextTimeoutSec(job, code),
    };
  }
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
