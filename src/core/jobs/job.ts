import type { StoredFile } from "../storage-policy.ts";
import type { FailureClass } from "./failure.ts";

export const jobStates = ["pending", "assigned", "running", "completed", "failed", "quarantined"] as const;
export type JobState = (typeof jobStates)[number];

/** The two parts of `pending`: a scheduled job has never been claimed, and its run_at has not come. */
export const pendingParts = ["waiting", "scheduled"] as const;
export type PendingPart = (typeof pendingParts)[number];
/** What lists can be filtered by. */
export type ListedState = JobState | PendingPart;

/** The state of which it is a part, or the state itself. */
export function stateBehind(listed: ListedState): JobState {
  return listed === "waiting" || listed === "scheduled" ? "pending" : listed;
}

/** Whether only its time is missing: it has never been claimed, its time has not come, and it is not held. */
export function isScheduled(
  { status, attempt, runAt, heldAt }: Pick<JobRecord, "status" | "attempt" | "runAt" | "heldAt">,
  nowMs: number,
): boolean {
  return status === "pending" && attempt === 0 && runAt > nowMs && heldAt === null;
}

export const endedStates = ["completed", "failed", "quarantined"] as const satisfies readonly JobState[];

export function isActive(state: JobState): boolean {
  return state === "assigned" || state === "running";
}

export function isEnded(state: JobState): boolean {
  return (endedStates as readonly JobState[]).includes(state);
}

export type FailureEntry = {
  reason: string;
  code: FailureClass;
  detail: string | null;
  worker_id: string | null;
  attempt: number;
  ts: number;
  /** The last line that the attempt wrote to stderr, if it wrote one. */
  last_line?: string;
};

/**
 * What the store keeps of a job beside its document. The document never changes; everything here may. `attempt` is the
 * fence: it increases with each claim and never decreases. `attempts` is what max_attempts counts.
 */
export type JobRecord = {
  seq: number;
  id: string;
  tenantId: string;
  userId: string;
  type: string;
  priority: number;
  queueKey: string;
  documentSha256: string;
  idempotencyKey: string;
  requestHash: string | null;

  status: JobState;
  attempt: number;
  attempts: number;
  maxAttempts: number;
  /** Whether the producer chose `maxAttempts`: then only the total counts, whatever the classes of the failures. */
  attemptsChosen: boolean;
  /**
   * The limits in the document that are the hub's own defaults, separated by commas. A worker whose host lacks one of
   * them leaves it out and runs the job.
   */
  limitsDefaulted: string | null;
  /** The timeout of the next lease; a TIMEOUT retry doubles it. */
  timeoutSec: number;
  /** The timeout in the document; a manual retry returns to it. */
  documentTimeoutSec: number;
  releases: number;
  retryCounts: Partial<Record<FailureClass, number>>;
  /** How long it may wait to be started; null once it has started, or if it may wait forever. */
  queueTtlSec: number | null;

  createdAt: number;
  runAt: number;
  claimedAt: number | null;
  startedAt: number | null;
  heartbeatAt: number | null;
  completedAt: number | null;
  cancelRequestedAt: number | null;

  workerId: string | null;
  /** SHA-256 of the token of the current lease, or of the last one after the job has ended. */
  leaseTokenHash: string | null;
  /** The hub's key that signed the current or the last lease; null if unknown. */
  leaseKeyId: string | null;
  leaseExpiresAt: number | null;
  deadlineAt: number | null;

  /** Canonical JSON text; null if there is none yet. */
  result: string | null;
  resultHash: string | null;
  resultKey: string | null;
  partialResult: string | null;
  exitCode: number | null;
  progress: string | null;
  isolation: string | null;
  usage: string | null;
  outputFiles: string | null;
  /** The worker's signed receipt of the attempt, as it was sent. */
  receipt: string | null;

  failReason: string | null;
  failCode: FailureClass | null;
  failDetail: string | null;
  failHistory: FailureEntry[];

  /** The number of events of the job, which is also the number of the last one. */
  eventCount: number;
  /** Canonical JSON of what only the hub reads, as it was submitted; null for a job that uses none of it. */
  terms: string | null;
  /** Since when a person has held it; null for nearly all jobs. */
  heldAt: number | null;
};

/** A job before it is in the store. */
export type NewJob = Pick<
  JobRecord,
  | "id"
  | "tenantId"
  | "userId"
  | "type"
  | "priority"
  | "queueKey"
  | "documentSha256"
  | "idempotencyKey"
  | "requestHash"
  | "maxAttempts"
  | "attemptsChosen"
  | "limitsDefaulted"
  | "timeoutSec"
  | "queueTtlSec"
  | "createdAt"
  | "runAt"
  | "terms"
> & {
  document: string;
  /** What lists show of the document; null if the document is small enough to be read for each list. */
  summary: string | null;
  /** The files in storage that the document names. */
  inputs?: readonly StoredFile[];
  /** Whether its submitter may change the jobs of others too; it matters for a unique key. */
  actsForAll?: boolean;
  /** Whether the producer chose the idempotency key. A key that was derived from the id is as unique as the id. */
  isKeyChosen: boolean;
};

/** The record of a newly accepted job. */
export function newJobRecord(job: NewJob, seq: number): JobRecord {
  return {
    seq,
    id: job.id,
    tenantId: job.tenantId,
    userId: job.userId,
    type: job.type,
    priority: job.priority,
    queueKey: job.queueKey,
    documentSha256: job.documentSha256,
    idempotencyKey: job.idempotencyKey,
    requestHash: job.requestHash,
    status: "pending",
    attempt: 0,
    attempts: 0,
    maxAttempts: job.maxAttempts,
    attemptsChosen: job.attemptsChosen,
    limitsDefaulted: job.limitsDefaulted,
    timeoutSec: job.timeoutSec,
    documentTimeoutSec: job.timeoutSec,
    releases: 0,
    retryCounts: {},
    queueTtlSec: job.queueTtlSec,
    createdAt: job.createdAt,
    runAt: job.runAt,
    claimedAt: null,
    startedAt: null,
    heartbeatAt: null,
    completedAt: null,
    cancelRequestedAt: null,
    workerId: null,
    leaseTokenHash: null,
    leaseKeyId: null,
    leaseExpiresAt: null,
    deadlineAt: null,
    result: null,
    resultHash: null,
    resultKey: null,
    partialResult: null,
    exitCode: null,
    progress: null,
    isolation: null,
    usage: null,
    outputFiles: null,
    receipt: null,
    failReason: null,
    failCode: null,
    failDetail: null,
    failHistory: [],
    eventCount: 0,
    terms: job.terms,
    heldAt: null,
  };
}
