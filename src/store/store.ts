import type { Spent } from "../core/agents/agent-budget.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { Origin } from "../core/events.ts";
import type { Change } from "../core/jobs/change.ts";
import type { JobRecord, JobState, NewJob } from "../core/jobs/job.ts";
import type { ChangeRules } from "../core/jobs/outcome.ts";
import type { WorkerFacts } from "../core/jobs/queue-key.ts";
import type { Quota } from "../core/jobs/quota.ts";
import type { SmallOutput } from "../core/jobs/small-output.ts";
import type { LaneNumbers } from "../core/lanes/lane.ts";
import type { AccessStore } from "./access-store.ts";
import type { AuditStore } from "./audit-store.ts";
import type { EventStore } from "./event-store.ts";
import type { DamagedPart } from "./jobs/find-damage.ts";
import type { JobFilter, JobIdPage, JobPage } from "./jobs/job-list.ts";
import type { LaneStore } from "./lane-store.ts";
import type { ObjectStore } from "./object-store.ts";
import type { OrderStore } from "./order-store.ts";
import type { DroppedSizes, OutputStore } from "./output-store.ts";
import type { WaitingQueue } from "./queues/list-waiting-queues.ts";
import type { QueueSurveyLine } from "./queues/survey-queues.ts";
import type { ResponseStore } from "./response-store.ts";
import type { StatisticsStore } from "./statistics-store.ts";
import type { WorkerStore } from "./worker-store.ts";

/**
 * The interface to the database. Every method is one act: it happens completely, with its events, in one transaction, and
 * is answered after the commit, or it does not happen. Acts that arrive together may share a transaction; one that is
 * refused does not affect the others. Several stores may be open on one database; what one of them has answered, all of
 * them show.
 *
 * The order of events: `seq` counts from 1, without a gap, in the order in which events become visible. A reader
 * that has seen event n, through any store, can read all events before it, and never sees a new one at or below n. So a
 * reader keeps one number and reads on after it, and everything up to the last number that it has seen (from readEvents,
 * eventRange or a notice) is final. An act that does not happen leaves no gap. Only the oldest events are ever removed.
 *
 * A driver reads and writes and decides nothing: the rules are in core/jobs/effects.ts and in the files beside this one.
 * test/store-contract checks every driver against this page. Why: ADR 0021, ADR 0022.
 */
export type Store = AccessStore &
  AuditStore &
  EventStore &
  ObjectStore &
  OrderStore &
  LaneStore &
  OutputStore &
  ResponseStore &
  StatisticsStore &
  WorkerStore & {
    /**
     * Accepts all of these jobs or none. The same idempotency key with the same request returns the first job. A tenant
     * has no more queues with pending jobs than its stored quota allows.
     */
    submitJobs(input: {
      jobs: NewJob[];
      maxPending: number | null;
      origin: Origin | null;
    }): Promise<SubmitOutcome>;
    /** Leases the best jobs that fit the worker: tenants take turns; within a tenant, priority and then age decide. */
    claimJobs(input: ClaimInput): Promise<ClaimOutcome>;
    /** The claim waits no longer: after this, nothing is handed over to it. */
    unparkClaim(input: { claimId: string }): Promise<void>;
    /**
     * Applies each change by itself; the answers are in the order of the changes. The signature behind the receipts in
     * them is kept if at least one of them was accepted.
     */
    changeJobs(input: {
      changes: JobChange[];
      rules: ChangeRules;
      origin: Origin | null;
      receiptSignature?: ReceiptSignature | null;
    }): Promise<ChangeAnswer[]>;
    /**
     * Ends what is due: jobs that are expired, timed out, lost or abandoned. `more` means that the limit was reached.
     */
    reapJobs(input: { rules: ChangeRules; limit: number }): Promise<{ reaped: number; more: boolean }>;
    /**
     * Takes leases back without charging attempts: those made with one key, or all. A lease without a recorded key
     * counts as made with any key. `ended` of them belonged to jobs that are over with it, such as those whose only attempt
     * had begun. `more` means that the limit was reached.
     */
    recallJobs(input: RecallInput): Promise<{ recalled: number; ended: number; more: boolean }>;
    /** Raises the fence of all pending jobs, when attempts may have been made that this store does not know of. */
    raiseAttempts(input: { by: number }): Promise<{ raised: number }>;
    /** Makes delayed jobs claimable once they are due; returns when the next one is due. */
    promoteJobs(input: { nowMs: number; limit: number }): Promise<{ nextRunAt: number | null }>;
    /** After a restart, every live lease and every deadline lasts at least one more full lease. Returns their jobs. */
    graceLeases(input: { nowMs: number; leaseMs: number }): Promise<{ extended: string[] }>;
    /**
     * Moves leases, deadlines, waits, delays before a retry and last heartbeats, because the clock that they were
     * measured with has moved. Returns how many jobs are held or may not wait for ever.
     */
    shiftTimes(input: { byMs: number }): Promise<{ shifted: number }>;

    /**
     * Checks the seal of the document and the hash of the result; `isCompared` also compares the job with its last event.
     * With a tenant, a job of another tenant is not loaded; it takes no longer than one that does not exist.
     */
    getJob(input: GetJobInput): Promise<StoredJob | null>;
    /**
     * One page of jobs, newest first, without what is large. A page may be short, or empty, without being the last: a
     * call looks at a limited number of jobs and returns a limited number of bytes. `nextBefore` is where the next page
     * begins; null after the last. Seals and hashes are not checked; a job that cannot be read is marked as damaged, and
     * the others are listed all the same.
     */
    listJobs(input: JobFilter): Promise<JobPage>;
    /** The ids of the same jobs; their pages have the same limits. */
    listJobIds(input: JobFilter): Promise<JobIdPage>;
    /** How many jobs fit. If `isMore`, there may be more: counting ends after a while. */
    countJobs(input: Omit<JobFilter, "limit">): Promise<{ count: number; isMore: boolean }>;
    /**
     * How many claimable jobs of the same queue are ahead, whether its type is paused, and how many jobs of its tenant
     * are assigned or running. Null if it is not pending.
     */
    getQueuePosition(input: { jobId: string }): Promise<QueuePosition | null>;
    /**
     * Deletes finished jobs, oldest first, but not their receipts; returns their ids so that outputs can be deleted
     * too. The files that they have stored no longer exist from then on. The last event of each says so.
     */
    pruneJobs(input: {
      endedBefore: number;
      quarantinedBefore: number;
      limit: number;
      nowMs: number;
    }): Promise<string[]>;

    getReceiptSignature(input: { id: string }): Promise<ReceiptSignature | null>;
    /** What is left of a deleted job that had a receipt; if several had the same id, the last one. */
    getForgottenJob(input: { jobId: string }): Promise<ForgottenJob | null>;
    /** Deletes the receipts of deleted jobs that had ended before this time. */
    pruneReceipts(input: { before: number; limit: number }): Promise<{ removed: number }>;
    /** Deletes what was signed before this time. */
    pruneReceiptSignatures(input: { before: number; limit: number }): Promise<{ removed: number }>;

    getQuota(input: { tenantId: string }): Promise<Quota>;
    /** What coding agents of the tenant have used on this UTC day. */
    getSpending(input: { tenantId: string; day: string }): Promise<Spent>;
    putQuota(input: { tenantId: string; quota: Quota; nowMs: number; origin: Origin | null }): Promise<void>;
    /** Every tenant that has a quota or jobs. */
    listQuotas(): Promise<TenantUsage[]>;
    /** By tenant and type; a paused type without jobs belongs to no tenant. */
    listQueues(): Promise<QueueSummary[]>;
    /** The busiest types of each tenant, and how long their oldest jobs wait. */
    surveyQueues(): Promise<QueueSurveyLine[]>;
    /** The longest queues with waiting jobs, with what a worker needs to take them. Paused types are left out. */
    listWaitingQueues(): Promise<WaitingQueue[]>;
    setQueuePaused(input: {
      type: string;
      paused: boolean;
      nowMs: number;
      origin: Origin | null;
    }): Promise<void>;

    /** Rejects with STORE_UNAVAILABLE if the database does not answer. `server` is what it is, such as "PostgreSQL 15.4". */
    ping(): Promise<{ schemaVersion: number; server: string; jobs: Record<JobState, number> }>;
    close(): Promise<void>;
  };

export type QueuePosition = { ahead: number; paused: boolean; running: number };

/** `isDuplicate`: it is another job, which has the unique key and stands for the one that was sent. */
export type SubmittedJob = { id: string; status: JobState; existed: boolean; isDuplicate?: true };

export type SubmitOutcome =
  | { kind: "accepted"; jobs: SubmittedJob[] }
  /** The name is taken by the job of another request; null if that is another user's job. */
  | { kind: "mismatch"; index: number; jobId: string | null }
  /** Another user's job has the unique key. */
  | { kind: "unique_held"; index: number }
  | { kind: "over_quota"; pending: number; maxPending: number }
  | { kind: "too_many_queues"; waiting: number; maxQueues: number }
  /** Another user's job has made the lane, with these numbers. */
  | { kind: "lane_differs"; index: number; lane: LaneNumbers & { name: string } };

export type ClaimInput = {
  workerId: string;
  worker: WorkerFacts;
  max: number;
  /** The documents of one claim never exceed this size together; the first always fits. */
  bytesMax: number;
  /** From which the token of each leased attempt follows; the store keeps only the hashes of tokens. */
  leaseSecret: string;
  /** The hub's key that signs the leases. */
  leaseKeyId?: string | null;
  /**
   * The claim may wait under this name: if there is nothing, a later transaction that makes jobs claimable leases them
   * to it and says so in its notice, until it is unparked.
   */
  parkAs?: string | undefined;
  rules: ChangeRules;
  /** The call that claims; the events of the jobs that it is given name it, even if it is given them later. */
  origin?: Origin | null;
};

export type RecallInput = {
  /** Null for all leases. */
  leaseKeyId: string | null;
  reason: string;
  rules: ChangeRules;
  limit: number;
  origin: Origin | null;
};

/** One signature of a worker over one receipt, or over a list of hashes of receipts, with the receipts themselves. */
export type ReceiptSignature = {
  /** SHA-256 of the text. */
  id: string;
  /** What was signed, and below it a line for each receipt. */
  text: string;
  signature: string;
  workerId: string;
  /** The key that the worker had registered when it signed; later the worker may be gone, or have another key. */
  publicKey: string | null;
  createdAt: number;
};

export type ClaimOutcome = {
  claimed: ClaimedJob[];
  /** Jobs whose stored document did not match its seal; they have failed and were skipped. */
  refused: string[];
};

/**
 * The fields of a job that are returned to those who claim or change it. Records have four times as many fields, and
 * copying all of them between threads cost more than writing them.
 */
export type JobBrief = Pick<
  JobRecord,
  | "id"
  | "tenantId"
  | "type"
  | "status"
  | "attempt"
  | "workerId"
  | "documentSha256"
  | "timeoutSec"
  | "limitsDefaulted"
  | "runAt"
  | "claimedAt"
  | "startedAt"
  | "completedAt"
  | "leaseExpiresAt"
  | "leaseKeyId"
  | "attempts"
  | "createdAt"
  | "cancelRequestedAt"
>;

export type ClaimedJob = { job: JobBrief; document: string; leaseToken: string };
export type StoredJob = {
  job: JobRecord;
  document: string;
  /** The noted sizes of its outputs, and up to which attempt they were removed. */
  output: DroppedSizes;
  /** What of it cannot be trusted. Empty for an intact job. */
  damaged: DamagedPart[];
  /** Of a job that was compared: whether the hub has refused the receipt of its last attempt. */
  isReceiptRefused?: boolean;
};

export type GetJobInput = { jobId: string; tenantId?: string | null; isCompared?: boolean };

/** The result was deleted with the job; the receipt has its hash. */
export type ForgottenJob = Pick<JobRecord, "id" | "tenantId" | "userId" | "documentSha256"> & {
  document: string;
  receipt: string;
  /** Whether all of this still matches the seal that the job had. */
  isSealed: boolean;
};

export type JobChange = {
  jobId: string;
  change: Exclude<Change, { act: "claim" | "refuse" | "due" | "supersede" | "postpone" }>;
  /** With the end of an attempt: all of its output. It is kept if the change is made. */
  smallOutput?: SmallOutput | undefined;
};

export type ChangeAnswer =
  | { kind: "moved"; job: JobBrief }
  | { kind: "duplicate"; job: JobBrief }
  | { kind: "refused"; code: ErrorCode; message: string; job: JobBrief }
  | { kind: "unknown" };

export type TenantUsage = { tenantId: string; quota: Quota; pending: number; active: number };

export type QueueSummary = {
  tenantId: string | null;
  type: string;
  paused: boolean;
  /** Scheduled jobs are among them. */
  pending: number;
  /** Jobs that have never been claimed, and whose time has not come. */
  scheduled: number;
  active: number;
};
