import { isDeepStrictEqual } from "node:util";
import type { Origin } from "../core/events.ts";
import type { Fence } from "../core/jobs/change.ts";
import type { ClaimDetail } from "../core/jobs/failure.ts";
import type { JobRecord } from "../core/jobs/job.ts";
import type { ChangeRules } from "../core/jobs/outcome.ts";
import type { Capability, WorkerFacts } from "../core/jobs/queue-key.ts";
import type { ChangeAnswer } from "./store.ts";
import type { WorkerOwner } from "./workers/worker-owner.ts";

/** `evidence` is the record in the audit trail that led to the block, if it was written before. */
export type BlockReason = { reason: string; evidence?: number };

/** The part of the store that knows the workers: their registration, heartbeats and metrics. */
export type WorkerStore = {
  /**
   * The tenant in its facts is the caller's. A name that has an owner keeps it: `not_yours` unless the caller is of that
   * tenant or speaks for the hub.
   */
  registerWorker(input: {
    worker: WorkerRegistration;
    nowMs: number;
    origin: Origin | null;
  }): Promise<"ok" | "key_conflict" | "not_yours">;
  /** Records that the worker is alive and renews exactly the leases listed. Null if it is not registered. */
  heartbeatWorker(input: HeartbeatInput): Promise<HeartbeatAnswer | null>;
  getWorker(input: { workerId: string }): Promise<WorkerRecord | null>;
  listWorkers(): Promise<WorkerRecord[]>;
  /** Whose this name is: the registered worker's owner, else that of the newest valid token that names it. */
  getWorkerOwner(input: { workerId: string; nowMs: number }): Promise<WorkerOwner | null>;
  /** Null if there is no such worker. */
  setWorker(input: {
    workerId: string;
    set: { blocked?: boolean; draining?: boolean };
    nowMs: number;
    origin: Origin | null;
  }): Promise<WorkerRecord | null>;
  /**
   * Blocks a worker on evidence against it, and records which. It is known from then on, even if it is not registered: it
   * must not escape by leaving before it is blocked. False if it was blocked already.
   */
  blockWorker(input: { workerId: string; why: BlockReason; nowMs: number }): Promise<boolean>;
  /**
   * The worker could not verify a claim. The jobs whose leases it names are pending again without charge, each under its own
   * fence, and the worker is given nothing for a while, longer each time. While that lasts, another report only returns jobs,
   * and leaves no record of its own. The answers are in the order of the leases. Null if it is not registered.
   */
  refuseClaim(
    input: RefusedClaim,
  ): Promise<{ answers: ChangeAnswer[]; pausedUntil: number; isNew: boolean } | null>;
  /**
   * Its jobs are treated as if their leases had expired. A worker that is blocked, or is given nothing because it refused
   * claims, only becomes inactive: it stays known until somebody unblocks it, or the pause is over. `replaced` if the call
   * names a process, and another one has registered since.
   */
  removeWorker(input: RemovedWorker): Promise<RemoveOutcome>;
  /**
   * Workers that have been silent since then become inactive. Their jobs stay with them: each ends with its own lease, which
   * the worker may still renew.
   */
  retireSilentWorkers(input: { silentSince: number; nowMs: number }): Promise<{ retired: string[] }>;
  /**
   * These workers made a call at these times, and are active unless the hub is locked. A block or drain stays. Workers that
   * are not registered are left out.
   */
  noteSignsOfLife(input: { signs: SignOfLife[] }): Promise<void>;
  /**
   * False if there is no such worker. What is older than `keepSince` or later than `keepUntil` is deleted in the same act, and
   * of the rest all but the newest `keepMax`.
   */
  saveWorkerMetrics(input: {
    workerId: string;
    ts: number;
    metrics: string;
    keepSince: number;
    keepUntil: number;
    keepMax: number;
  }): Promise<boolean>;
  /** Oldest first; with `newest`, only so many of the newest. */
  listWorkerMetrics(input: {
    workerId: string;
    newest?: number | undefined;
  }): Promise<{ ts: number; metrics: string }[]>;
};

export type SignOfLife = { workerId: string; atMs: number };

export type WorkerRegistration = {
  id: string;
  name: string | null;
  facts: WorkerFacts;
  slots: number;
  keyIds: string[];
  publicKey: string | null;
  version: string | null;
};

/** A worker keeps its first key until an administrator removes the worker. */
export function hasKeyConflict(
  known: Pick<WorkerRegistration, "publicKey">,
  worker: WorkerRegistration,
): boolean {
  return known.publicKey !== null && worker.publicKey !== null && worker.publicKey !== known.publicKey;
}

/**
 * Whether another process has registered under the name since this one did. Workers that do not name their process are never
 * replaced.
 */
export function isReplaced(
  { facts }: Pick<WorkerRegistration, "facts">,
  bootId: string | undefined,
): boolean {
  return bootId !== undefined && facts.bootId !== undefined && facts.bootId !== bootId;
}

export type WorkerRecord = WorkerRegistration & {
  status: "active" | "inactive";
  blocked: boolean;
  draining: boolean;
  /** How many claims it has refused lately, and until when it is given nothing because of the last one. */
  refusedClaims: number;
  pausedUntil: number | null;
  registeredAt: number;
  lastHeartbeat: number;
  currentJobs: number;
  jobCounts: { completed: number; failed: number };
};

/** Somebody who unblocks a worker also ends the pause after claims that it refused. */
export function workerAfter(
  worker: WorkerRecord,
  set: { blocked?: boolean; draining?: boolean },
): WorkerRecord {
  const unpaused = set.blocked === false ? { refusedClaims: 0, pausedUntil: null } : {};
  return { ...worker, ...set, ...unpaused };
}

/** Whether nothing is different except what changes by itself: when it was heard of, and its jobs. */
export function isSameWorker(before: WorkerRecord, after: WorkerRecord): boolean {
  return isDeepStrictEqual(whatItIs(before), whatItIs(after));
}

function whatItIs({ lastHeartbeat: _, currentJobs: __, jobCounts: ___, ...rest }: WorkerRecord) {
  return rest;
}

export type RemovedWorker = {
  workerId: string;
  /** The process that leaves. */
  bootId?: string | undefined;
  rules: ChangeRules;
  origin: Origin | null;
  /** A worker removes itself when it stops. */
  by: "worker" | "person";
};

export type RemoveOutcome = "ok" | "unknown" | "replaced";

export type RefusedClaim = {
  workerId: string;
  /** `documentSha256` is the hash of what the worker received, if it says so. */
  leases: { jobId: string; fence: Fence; documentSha256?: string | undefined }[];
  /** `evidence` is what else the worker has reported, for the record. */
  refusal: { detail: ClaimDetail; reason: string; evidence: Record<string, unknown> };
  rules: ChangeRules;
  origin: Origin | null;
};

export type HeartbeatInput = {
  workerId: string;
  capabilities: Capability[] | null;
  /** What is renewed, each with what it has used so far, if that is known. */
  leases: { jobId: string; fence: Fence; usage?: string | undefined }[];
  rules: ChangeRules;
};

export type HeartbeatAnswer = { cancel: string[]; lost: string[]; draining: boolean; blocked: boolean };

/** What a worker is told about the leases that it named: a job whose lease was not renewed is lost to it. */
export function heartbeatAnswer(
  { draining, blocked }: WorkerRecord,
  renewals: { jobId: string; renewed: JobRecord | null }[],
): HeartbeatAnswer {
  const ids = (list: typeof renewals) => list.map(({ jobId }) => jobId);
  return {
    cancel: ids(renewals.filter(({ renewed }) => renewed !== null && renewed.cancelRequestedAt !== null)),
    lost: ids(renewals.filter(({ renewed }) => renewed === null)),
    draining,
    blocked,
  };
}

/** One act retires no more workers than this; a whole fleet that goes silent is retired over several acts. */
export const retiredMax = 500;
