import type { OutputStream } from "../core/output-stream.ts";

/**
 * The seam to what jobs write. An output is one stream of one attempt of one job: bytes, addressed from 0, that only
 * grow at their end. Where they are kept is known to the driver alone: this page assumes no path, no descriptor and no
 * single hub. test/outputs-contract holds every driver to it.
 *
 * What readers rely on:
 *
 * - **The byte at an offset never changes.** A reader that has stopped at an offset continues there, through another
 *   hub if need be, and misses nothing. Only the size may fall, after a failed append or a power failure, and never
 *   below what was synced; the sender then sends the same bytes to the same offset again.
 * - **What `append` has answered can be read at once**, also by a reader that another hub serves.
 * - **A follower waits without polling the caller.** Its next piece resolves when bytes have arrived; it ends when
 *   `ended` has resolved and everything appended before that was yielded.
 *
 * A name that is no job id, attempt or stream, and a place that cannot be read or written, is OUTPUT_UNAVAILABLE.
 */
export type Outputs = {
  /**
   * Appends all of the bytes when `offset` is the size, else none, and OUTPUT_OFFSET carries the size. So a sender that
   * repeats itself after a lost answer, or comes back through another hub, leaves no gap and writes nothing twice.
   */
  append(output: OutputName, chunk: { offset: number; bytes: Uint8Array }): Promise<{ size: number }>;
  /** How many bytes each stream of an attempt has; 0 when there is no such output. */
  sizes(attempt: AttemptName): Promise<StreamSizes>;
  /** Yields exactly the bytes from `start` to before `end`; fails when there are fewer. The pieces belong to the caller. */
  read(output: OutputName, range: { start: number; end: number }): AsyncGenerator<Buffer>;
  /**
   * Yields the bytes from `offset` on and then what is added. The pieces belong to the caller. It fails when the output
   * is removed before its end.
   */
  follow(output: OutputName, options: FollowOptions): AsyncGenerator<Buffer>;

  /**
   * An append is answered before it would survive a power failure. This resolves when everything appended for the job
   * so far would; it costs nothing when nothing was appended since the last time. The hub asks for it before it accepts
   * the end of an attempt, because the worker removes its own copy then.
   */
  sync(jobId: string): Promise<void>;
  /**
   * After a restart: what was appended for these jobs may not be synced, because the hub that did it has died. The next
   * `sync` of each covers all that there is, not only what was appended since.
   */
  assumeUnsynced(jobIds: Iterable<string>): void;
  /**
   * Syncs what has waited for several calls of this, because its job is silent or nobody will report its end. One call
   * syncs a bounded number of jobs. The hub calls it every few seconds.
   */
  syncOverdue(signal: AbortSignal): Promise<void>;

  /** Removes everything that a job has written. One that has written nothing is no error. */
  remove(jobId: string): Promise<void>;
  /** Removes what these attempts have written; other attempts of the job are untouched, even while they write. */
  removeAttempts(jobId: string, attempts: readonly number[]): Promise<void>;

  /** Every job that has output, in pages of at most 500; those that come or go meanwhile may be left out. */
  listJobs(): AsyncGenerator<string[]>;
  /** The attempts of a job that have output. */
  listAttempts(jobId: string): Promise<number[]>;
  /** How much the place could hold if it were empty; null when it has no limit of its own. */
  capacityBytes(): Promise<number | null>;

  /** Lets go of what it holds, after what was asked before. */
  close(): Promise<void>;
};

export type AttemptName = { jobId: string; attempt: number };
export type OutputName = AttemptName & { stream: OutputStream };
export type StreamSizes = Record<OutputStream, number>;

export type FollowOptions = {
  offset: number;
  /** Asked once. Resolves when nothing more will be appended; what it rejects with ends the follower too. */
  ended: () => Promise<void>;
  /** Ends the follower with the signal's reason, also while it waits. */
  signal: AbortSignal;
};
