import type { EventKind, LoggedEvent, NewEvent } from "../core/events.ts";
import type { Observation } from "../core/statistics/observation.ts";
import type { ClaimedJob } from "./store.ts";

/** The log of events. In which order they become visible is written in store.ts. */
export type EventStore = {
  recordEvents(input: { events: NewEvent[] }): Promise<void>;
  /** In order of seq, after `afterSeq`. */
  readEvents(input: EventFilter): Promise<LoggedEvent[]>;
  /** The first and the last seq that the log still contains; zeros if it is empty. */
  eventRange(): Promise<{ first: number; last: number }>;
  /**
   * Deletes the oldest events up to a given one, with their seals; the seal of the last one stays for its successor.
   */
  pruneEvents(input: { throughSeq: number; limit: number }): Promise<{ removed: number }>;

  /**
   * Called after each commit that others may be waiting for; by then it can be read. Commits of this store are
   * announced at once; those of other stores on the database, if there can be any, within about a second. Returns a
   * function to stop listening.
   */
  onCommit(listener: (notice: CommitNotice) => void): () => void;
  /**
   * Continues the log after this number, because the numbers up to it were given by a database that is lost. It is the
   * only gap that a log can have. `hash` is that of the last record, which the next one follows.
   */
  skipEvents(input: { throughSeq: number; hash: string }): Promise<void>;
  /** Which database this is (a copy is the same), and the number of the last event that was ever written. */
  getDatabase(): Promise<{ id: string; lastSeq: number }>;
};

export type EventFilter = {
  afterSeq: number;
  /** Looks no further than this, which bounds a read that finds little. */
  throughSeq?: number;
  limit: number;
  tenantId?: string;
  /** Only events of jobs that this user owns. */
  ownerId?: string;
  jobId?: string;
  kinds?: EventKind[];
};

export type ReadyJobs = { queueKey: string; count: number };

/** What changed in a commit, for those who wait: enough to wake the right ones, and what was leased to them. */
export type CommitNotice = {
  lastSeq: number;
  /** Queues that gained claimable jobs. */
  ready: ReadyJobs[];
  /** Jobs that were leased to claims that were parked under these names. Each of them is no longer parked. */
  handedOver: { claimId: string; claimed: ClaimedJob[] }[];
  /** Workers that must be told of a cancel, or of a lease that they have lost. */
  signals: { workerId: string; jobId: string; signal: "cancel" | "lost" }[];
  /** Workers that were registered anew, blocked, drained or removed, or may go on: what waits for them has to return. */
  workers: { workerId: string; isDraining: boolean }[];
  /** Jobs with new events in the log; those of other stores by the last eight characters of their ids. */
  jobs: string[];
  /** What statistics count of this commit. */
  observed: Observation[];
  /** Other stores have written more than is said here: everything that waits looks again. */
  isAll: boolean;
};
