import type { JobState } from "../../src/core/jobs/job.ts";
import { leaseMs } from "./scene.ts";

/**
 * A second telling of a job's life, written from the table of states and not from the code, as small as it can be.
 * The model test drives it and a store with the same acts and compares them after each.
 */
export type ModelJob = {
  id: string;
  state: JobState;
  attempt: number;
  charged: number;
  maxAttempts: number;
  /** Retries of timeouts and errors together, and the delay before each, if the job has a policy. */
  policy: { max: number; delayMs: number } | null;
  releases: number;
  retries: { TIMEOUT: number; EXECUTION_ERROR: number; WORKER_DISCONNECTED: number };
  runAt: number;
  ttlMs: number | null;
  ttlAt: number | null;
  finishAt: number | null;
  timeoutMs: number;
  documentTimeoutMs: number;
  token: string | null;
  leaseEnds: number;
  deadline: number;
  cancelAt: number | null;
  /** Somebody keeps it from being claimed. */
  onHold: boolean;
  code: string | null;
  result: string | null;
};

export type Answer = "moved" | "duplicate" | "LEASE_LOST" | "STATE_CONFLICT" | "RESULT_CONFLICT";
type Retried = keyof ModelJob["retries"];
type Failure = Retried | "INVALID_JOB" | "SECURITY_VIOLATION";

const classMax = { TIMEOUT: 1, EXECUTION_ERROR: 2, WORKER_DISCONNECTED: 3 };
const delayMs = { TIMEOUT: 60_000, EXECUTION_ERROR: 30_000, WORKER_DISCONNECTED: 15_000 };
const hourMs = 3_600_000;
const killGraceMs = 6_000;
const stopGraceMs = 5_000;

export const isHeld = (job: ModelJob): boolean => job.state === "assigned" || job.state === "running";
const isOver = (job: ModelJob): boolean => !isHeld(job) && job.state !== "pending";

export function newModelJob(id: string, nowMs: number, parts: Partial<ModelJob>): ModelJob {
  return {
    id,
    state: "pending",
    attempt: 0,
    charged: 0,
    maxAttempts: 3,
    policy: null,
    releases: 0,
    retries: { TIMEOUT: 0, EXECUTION_ERROR: 0, WORKER_DISCONNECTED: 0 },
    runAt: nowMs,
    ttlMs: null,
    ttlAt: null,
    finishAt: null,
    timeoutMs: 300_000,
    documentTimeoutMs: 300_000,
    token: null,
    leaseEnds: 0,
    deadline: 0,
    cancelAt: null,
    onHold: false,
    code: null,
    result: null,
    ...parts,
  };
}

export function claim(job: ModelJob, token: string, nowMs: number): void {
  job.state = "assigned";
  job.attempt++;
  job.charged++;
  job.token = token;
  job.leaseEnds = nowMs + leaseMs;
  job.deadline = nowMs + job.timeoutMs + killGraceMs;
}

/** What the fence says to a worker that holds this token; null when it may speak. */
export function fence(job: ModelJob, token: string, nowMs: number): Answer | null {
  return !isHeld(job) || job.token !== token || job.leaseEnds <= nowMs ? "LEASE_LOST" : null;
}

export function renew(job: ModelJob, nowMs: number): void {
  job.leaseEnds = Math.max(job.leaseEnds, nowMs + leaseMs);
}

export function start(job: ModelJob, nowMs: number): void {
  renew(job, nowMs);
  if (job.state === "running") return;
  job.state = "running";
  job.ttlAt = null;
  job.deadline = nowMs + job.timeoutMs + killGraceMs;
}

export function result(job: ModelJob, token: string, value: string, nowMs: number): Answer {
  if (job.state === "completed" && job.token === token) {
    return job.result === value ? "duplicate" : "RESULT_CONFLICT";
  }
  const lost = fence(job, token, nowMs);
  if (lost !== null) return lost;
  if (job.cancelAt !== null) return endStopped(job);
  job.state = "completed";
  job.result = value;
  return "moved";
}

export function fail(job: ModelJob, code: Failure, nowMs: number): Answer {
  if (job.cancelAt !== null) return endStopped(job);
  if (code === "INVALID_JOB" || code === "SECURITY_VIOLATION") return end(job, "failed", code);
  if (job.policy !== null && code !== "WORKER_DISCONNECTED") return failByPolicy(job, code, nowMs);
  if (job.retries[code] < classMax[code] && job.charged < job.maxAttempts) {
    job.retries[code]++;
    backToQueue(job, nowMs + delayMs[code] * job.retries[code]);
    if (code === "TIMEOUT")
      job.timeoutMs = Math.min(job.timeoutMs * 2, Math.max(hourMs, job.documentTimeoutMs));
    return "moved";
  }
  return end(job, job.maxAttempts === 1 ? "failed" : "quarantined", code);
}

function failByPolicy(job: ModelJob, code: "TIMEOUT" | "EXECUTION_ERROR", nowMs: number): Answer {
  const { max, delayMs: delay } = job.policy!;
  const used = job.retries.TIMEOUT + job.retries.EXECUTION_ERROR;
  if (used < max && job.charged < job.maxAttempts) {
    job.retries[code]++;
    backToQueue(job, nowMs + delay * 2 ** used);
    return "moved";
  }
  return end(job, max === 0 || job.maxAttempts === 1 ? "failed" : "quarantined", code);
}

export function release(job: ModelJob, nowMs: number): Answer {
  if (job.cancelAt !== null) return endStopped(job);
  // The only attempt that it is allowed has begun.
  if (job.state === "running" && job.maxAttempts === 1) return fail(job, "WORKER_DISCONNECTED", nowMs);
  if (job.releases === 9) return fail(job, "WORKER_DISCONNECTED", nowMs);
  job.releases++;
  job.charged--;
  backToQueue(job, nowMs + 5_000);
  return "moved";
}

export function cancel(job: ModelJob, nowMs: number): Answer {
  if (isOver(job)) return "STATE_CONFLICT";
  if (job.state === "pending") return end(job, "failed", "CANCELLED");
  if (job.cancelAt !== null) return "duplicate";
  job.cancelAt = nowMs;
  return "moved";
}

export function hold(job: ModelJob): Answer {
  if (job.state !== "pending") return "STATE_CONFLICT";
  if (job.onHold) return "duplicate";
  job.onHold = true;
  return "moved";
}

export function resume(job: ModelJob, nowMs: number): Answer {
  if (job.state !== "pending") return "STATE_CONFLICT";
  if (!job.onHold) return "duplicate";
  job.onHold = false;
  backToQueue(job, Math.max(job.runAt, nowMs));
  return "moved";
}

export function retry(job: ModelJob, nowMs: number): Answer {
  const mayRun = (job.state === "failed" || job.state === "quarantined") && job.code !== "SECURITY_VIOLATION";
  if (!mayRun || (job.finishAt !== null && job.finishAt <= nowMs)) return "STATE_CONFLICT";
  job.charged = 0;
  job.releases = 0;
  job.retries = { TIMEOUT: 0, EXECUTION_ERROR: 0, WORKER_DISCONNECTED: 0 };
  job.timeoutMs = job.documentTimeoutMs;
  job.cancelAt = null;
  job.code = null;
  job.ttlAt = null;
  backToQueue(job, nowMs);
  return "moved";
}

/** What time alone does. Which of two moments came first decides; a lease goes before a deadline. */
export function tick(job: ModelJob, nowMs: number): void {
  const finishAt = job.finishAt ?? Number.POSITIVE_INFINITY;
  const ttlAt = job.onHold ? finishAt : (job.ttlAt ?? finishAt);
  if (job.state === "pending" && Math.min(ttlAt, finishAt) <= nowMs) end(job, "failed", "EXPIRED");
  if (!isHeld(job)) return;
  if (job.cancelAt === null && finishAt <= Math.min(nowMs, job.leaseEnds, job.deadline)) {
    job.cancelAt = nowMs;
    return;
  }
  const cancelDue = job.cancelAt === null ? Number.POSITIVE_INFINITY : job.cancelAt + stopGraceMs + leaseMs;
  if (Math.min(job.leaseEnds, job.deadline, cancelDue) > nowMs) return;
  fail(job, job.leaseEnds <= job.deadline ? "WORKER_DISCONNECTED" : "TIMEOUT", nowMs);
}

function backToQueue(job: ModelJob, runAt: number): void {
  job.state = "pending";
  job.token = null;
  job.runAt = runAt;
  if (job.ttlAt !== null) job.ttlAt = runAt + job.ttlMs!;
}

function endStopped(job: ModelJob): Answer {
  const isOverdue = job.finishAt !== null && job.cancelAt! >= job.finishAt;
  return end(job, "failed", isOverdue ? "EXPIRED" : "CANCELLED");
}

function end(job: ModelJob, state: "failed" | "quarantined", code: string): Answer {
  job.state = state;
  job.code = code;
  job.token = null;
  job.onHold = false;
  return "moved";
}
