import type { OutputStream } from "../core/jobs/output-stream.ts";

/**
 * The interface to the output of jobs. An output is one stream of one attempt of one job: bytes, addressed from 0, that only
 * grow at their end. Only the driver knows where they are stored: this page assumes no path, no descriptor and no
 * single hub. test/outputs-contract checks every driver against it.
 *
 * What readers rely on:
 *
 * - **The byte at an offset never changes.** A reader that has stopped at an offset continues there, through another
 *   hub if need be, and misses nothing. Only the size may shrink, after a failed append or a power failure, and never
 *   below what was synced; the sender then sends the same bytes to the same offset again.
 * - **What `append` has answered can be read at once**, even by a reader that another hub serves.
 * - **A follower waits without polling the caller.** Its next piece resolves when bytes have arrived; it ends when
 *   `ended` has resolved and everything appended before that was yielded.
 *
 * Outputs are copied from one driver to another with nothing else: `listJobs`, `listAttempts`, `sizes`, then `read` whole and
 * `append` the pieces at their offsets, and `sync` each job at the end. What is copied again is answered with
 * OUTPUT_OFFSET and continues at that size, so a copy that was interrupted is simply repeated.
 *
 * A name that is not a job id, attempt or stream, and storage that cannot be read or written, is OUTPUT_UNAVAILABLE.
 * Why: ADR 0023.
 */
export type Outputs = {
  /**
   * Appends all bytes if `offset` is the current size, otherwise none; OUTPUT_OFFSET then contains the size. So a
   * sender that repeats a chunk after a lost response, or continues through another hub, leaves no gap and writes
   * nothing twice.
   */
  append(output: OutputName, chunk: { offset: number; bytes: Uint8Array }): Promise<{ size: number }>;
  /** How many bytes each stream of an attempt has; 0 if there is no such output. */
  sizes(attempt: AttemptName): Promise<StreamSizes>;
  /**
   * Yields exactly the bytes from `start` to before `end`; fails if there are fewer. The pieces belong to the caller.
   */
  read(output: OutputName, range: { start: number; end: number }): AsyncGenerator<Buffer>;
  /**
   * Yields the bytes from `offset` on, and then what is added. The pieces belong to the caller. It fails if the output
   * is removed before its end.
   */
  follow(output: OutputName, options: FollowOptions): AsyncGenerator<Buffer>;

  /**
   * An append is answered before it would survive a power failure. This resolves when everything appended for the job
   * so far would survive one; it costs nothing if nothing was appended since the last time. The hub calls it before it
   * accepts the end of an attempt, because the worker then removes its own copy.
   */
  sync(jobId: string): Promise<void>;
  /**
   * After a restart: what was appended for these jobs may not be synced, because the hub that did it has died. The next
   * `sync` of each covers everything that exists, not only what was appended since.
   */
  assumeUnsynced(jobIds: Iterable<string>): void;
  /**
   * Syncs what has waited for several calls of this, because its job is silent or no worker will report its end. One
   * call syncs a bounded number of jobs. The hub calls it every few seconds.
   */
  syncOverdue(signal: AbortSignal): Promise<void>;
  /**
   * Moves what has become old to where it is cheaper to keep, and removes what is no longer needed. One call does a
   * bounded amount; readers notice nothing. The hub calls it every few seconds; several hubs may do so at the same
   * time.
   */
  compact(signal: AbortSignal): Promise<void>;

  /** Removes everything that was appended for a job. A job without output is not an error. */
  remove(jobId: string): Promise<void>;
  /** Removes what these attempts have written; other attempts of the job are untouched, even while they write. */
  removeAttempts(jobId: string, attempts: readonly number[]): Promise<void>;

  /** Every job for which something was appended, in pages of at most 500; jobs that are created or removed meanwhile may be left out. */
  listJobs(): AsyncGenerator<string[]>;
  /** The attempts of a job that have output. */
  listAttempts(jobId: string): Promise<number[]>;
  /** How much could be stored if it were empty; null if there is no limit of its own. */
  capacityBytes(): Promise<number | null>;

  /** Releases its resources, after what was requested before. */
  close(): Promise<void>;
};

/** The part of the interface that readers use. */
export type ReadableOutputs = Pick<Outputs, "sizes" | "read" | "follow">;

export type AttemptName = { jobId: string; attempt: number };
export type OutputName = AttemptName & { stream: OutputStream };
export type StreamSizes = Record<OutputStream, number>;

export type FollowOptions = {
  offset: number;
  /** Called once. Resolves when nothing more will be appended; a rejection ends the follower too. */
  ended: () => Promise<void>;
  /** Ends the follower with the signal's reason, even while it waits. */
  signal: AbortSignal;
};
