import type { Fence } from "./change.ts";
import { type JobRecord, type JobState, newJobRecord } from "./job.ts";

/** Jobs in each state, and the reports of their worker, for tests of the rules. */
export const nowMs = 1_000_000;
export const leaseMs = 60_000;
export const rules = { nowMs, leaseMs, backoffScale: 1 };
export const fence: Fence = { workerId: "w1", attempt: 1, tokenHash: "hash" };
const report = { exitCode: 0, isolation: null, usage: null, outputFiles: null, receipt: null };

export function aJob(state: JobState, parts: Partial<JobRecord> = {}): JobRecord {
  const job = newJobRecord(
    {
      id: "j1",
      tenantId: "acme",
      userId: "u1",
      type: "build",
      priority: 5,
      queueKey: "[]",
      documentSha256: "",
      idempotencyKey: "k",
      requestHash: null,
      isKeyChosen: false,
      maxAttempts: 3,
      attemptsChosen: false,
      limitsDefaulted: null,
      timeoutSec: 300,
      queueTtlSec: null,
      createdAt: 0,
      runAt: 0,
      document: "{}",
      summary: null,
      terms: null,
    },
    1,
  );
  const held = { attempt: 1, attempts: 1, workerId: "w1", leaseTokenHash: "hash", claimedAt: nowMs };
  const lease = { leaseExpiresAt: nowMs + leaseMs, deadlineAt: nowMs + 306_000 };
  const states: Record<JobState, Partial<JobRecord>> = {
    pending: {},
    assigned: { ...held, ...lease },
    running: { ...held, ...lease, startedAt: nowMs },
    completed: { ...held, result: "1", resultHash: "h1", resultKey: "k1", completedAt: nowMs },
    failed: { ...held, leaseTokenHash: null, failCode: "EXECUTION_ERROR", completedAt: nowMs },
    quarantined: { ...held, leaseTokenHash: null, failCode: "TIMEOUT", completedAt: nowMs },
  };
  return { ...job, status: state, ...states[state], ...parts };
}

export const result = {
  act: "result",
  fence,
  result: "1",
  resultHash: "h1",
  resultKey: null,
  ...report,
} as const;
export const failure = {
  act: "fail",
  fence,
  code: "EXECUTION_ERROR",
  detail: null,
  reason: "broke",
  partialResult: null,
  ...report,
} as const;
