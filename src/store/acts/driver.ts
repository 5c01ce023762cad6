import type { NewEvent } from "../../core/events.ts";
import type { ChangeContext } from "../../core/jobs/effects.ts";
import type { JobState } from "../../core/jobs/job.ts";
import type { NoticeBuilder } from "../jobs/notice-builder.ts";
import type { QueueBook } from "../queues/queue-book.ts";
import type { Store, SubmitOutcome } from "../store.ts";
import type { WorkerRecord } from "../worker-store.ts";
import type { Act, SqlValue } from "./act.ts";
import type { Reader } from "./columns.ts";

/** What a driver gives to acts that read. Why: ADR 0111. */
export type ReadDriver = {
  readonly workers: WorkerTable;
  /** The number of the last event. */
  logEnd(): Act<number>;
};

/** Drivers count the jobs of workers in different places. */
export type WorkerTable = Reader<WorkerRecord> & {
  /** SELECT with all that `read` needs, from `workers` as w. */
  readonly select: string;
  /** Columns that count jobs in the same row, and begin at 0. */
  readonly counts: readonly string[];
};

/** What a driver gives to acts that write. */
export type WriteDriver = ReadDriver & {
  /** Queues, quotas and paused types, as they are for this transaction. */
  readonly book: QueueBook;
  readonly notice: NoticeBuilder;
  /** SELECT of the id and the attempt of every job that a worker holds. */
  readonly heldAttempts: string;
  /** A statement whose answer the act does not need. If it fails, the transaction does. */
  send(text: string, ...values: SqlValue[]): void;
  /** Adds an event to the log. All events of these acts pass through here. */
  append(event: NewEvent): void;
  /** Quotas, paused types or lockdowns have changed; the acts that follow must find it so in the book. */
  changeSettings(inBook?: (book: QueueBook) => void): void;
  /** As the act of this name, for each of these inputs: a refusal writes nothing, and the others are not affected. */
  submitJobs(inputs: Parameters<Store["submitJobs"]>[0][]): Act<SubmitOutcome[]>;
  /** The states of these jobs, of those that exist. */
  statusesOf(jobIds: string[]): Act<Map<string, JobState>>;
  /** Waits for claims that are under way, and keeps others from beginning until the transaction ends. */
  stopClaims(): Act<void>;
  /** A worker was registered: its jobs are counted from now on. */
  countWorker(workerId: string): void;
  /** The worker has changed. Whatever waits for it, at any hub, was asked for by what it was before. */
  tellWorker(workerId: string, now?: { draining: boolean }): void;
  /** The jobs of the worker are treated as if their leases had expired. */
  disconnectJobs(workerId: string, how: ChangeContext): void | Promise<void>;
  /** The row of the worker is deleted: so are its counts. */
  forgetWorker(workerId: string): void;
};
