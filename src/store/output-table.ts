import type { OutputStream } from "../core/jobs/output-stream.ts";

/**
 * A table that all hubs of a database share, for what attempts append while they run. An output is chunks at offsets; older
 * chunks can be exchanged for segments, which are objects outside of the database. Every call is one transaction, and what
 * it has answered would survive a power failure of the server. Why: ADR 0085.
 */
export type OutputTable = {
  /** Appends all bytes if `offset` is the size, otherwise none. */
  append(
    output: AppendedName,
    chunk: { offset: number; bytes: Uint8Array },
  ): Promise<{ isAppended: boolean; size: number }>;
  /** What is at `start`, and how large the output is, both of one moment. Null if there is no such output. */
  read(output: AppendedName, range: { start: number; end: number }): Promise<OutputPart | null>;
  /** Those that exist. */
  sizes(attempts: AttemptKey[]): Promise<(AppendedName & { size: number })[]>;
  /** Forgets the outputs of a job, or of some of its attempts; the objects of their segments are left to `listGone`. */
  remove(jobId: string, attempts: readonly number[] | null): Promise<void>;
  /** In the order of their ids, after one of them. */
  listJobs(page: { after: string; limit: number }): Promise<string[]>;
  listAttempts(jobId: string): Promise<number[]>;

  /**
   * Chooses chunks that are to become a segment, and gives it an id. No other hub is given chunks of the same output until
   * `keepSegment` or `dropSegment`, or until the segment is stale. Null if there is nothing to do.
   */
  claimSegment(options: { keptIn: SegmentPlace; idleMs: number }): Promise<NewSegment | null>;
  /** Exchanges the chunks for the segment, whose object is complete. False if that is not possible any more. */
  keepSegment(segment: NewSegment): Promise<boolean>;
  dropSegment(id: string): Promise<void>;
  /** Segments whose objects are no longer needed, among them those that were begun this long ago. */
  listGone(options: GoneOptions): Promise<Pick<Segment, "id" | "keptIn">[]>;
  /** Their objects have been removed. */
  forgetSegments(ids: string[]): Promise<void>;

  /**
   * Tells that another hub may have appended or removed output of the job whose id ends so; null means of any job. These are
   * hints that may be lost. Returns what ends it.
   */
  onChange(listener: (jobEnd: string | null) => void): () => void;

  /** Proposes a mark for the folder that all hubs share; returns the one that was proposed first. */
  markFolder(mark: string): Promise<string>;
  close(): Promise<void>;
};

export type GoneOptions = { keptIn: SegmentPlace[]; staleMs: number; limit: number };
export type AttemptKey = { jobId: string; attempt: number };
export type AppendedName = AttemptKey & { stream: OutputStream };
export type SegmentPlace = "bucket" | "folder";
export type Segment = { id: string; keptIn: SegmentPlace; start: number; size: number };
export type NewSegment = AppendedName & { id: string; outputId: number; start: number; size: number };
export type OutputPart = {
  /** Another one if the output was removed and begun again. */
  outputId: number;
  size: number;
  /** Has the byte at `start`; otherwise it is the first one of `chunks`, which follow each other. */
  segment: Segment | null;
  chunks: Buffer[];
};

const kib = 1024;

/** Sizes in bytes. Tests make them smaller. */
export const outputBounds = {
  /** A chunk that is smaller than this grows with the next append, so that lines do not become rows. */
  chunkMin: 32 * kib,
  /** Larger appends are cut. */
  chunkMax: 256 * kib,
  /** So much of an output stays in the database, even if nothing more is appended. */
  tailMax: 256 * kib,
  segment: 8 * kib * kib,
};

export type OutputBounds = typeof outputBounds;

/** How many chunks one read returns: at most 1 MiB. */
export const chunksPerRead = 4;
