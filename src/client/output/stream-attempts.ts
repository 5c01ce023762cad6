import { hasCode, WritError } from "../../core/errors.ts";
import { isOver, type JobStatus } from "../../core/jobs/job-status.ts";
import type { OutputStream } from "../../core/jobs/output-stream.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { openDeadline } from "../deadline.ts";
import { Pace } from "../hub/pace.ts";
import { asHubBehind } from "./hub-behind.ts";

export type AttemptChunk = { attempt: number; offset: number; data: Uint8Array };

export type StreamAttemptsOptions = {
  stream?: OutputStream | undefined;
  offset?: number | undefined;
  /** Default: the latest attempt. */
  attempt?: number | undefined;
  /** Whether to follow until the attempt has ended (default: true). */
  follow?: boolean | undefined;
  /** Continues with the next attempt, until the job has ended. */
  goOn?: boolean | undefined;
  /** Called when an attempt has ended and another one follows or may follow. */
  onNext?: ((next: { attempt: number; job: JobStatus }) => void) | undefined;
  /** How to ask for the job, for several streams of one job that share the answers. By default each asks for itself. */
  status?: ((signal: AbortSignal) => Promise<JobStatus>) | undefined;
  /** Called before it tries again because the hub could not be reached. */
  onTrouble?: ((error: unknown) => void) | undefined;
  signal?: AbortSignal | undefined;
};

export type OutputPosition = { stream: OutputStream; attempt: number; offset: number };

/** How to ask for the job and for its output: from a position until the attempt has ended. */
export type StreamDeps = {
  clock: Clock;
  random: () => number;
  /** Whether the hub has answered another call of this client: then it is away when it does not answer this one. */
  hasAnswered?: boolean;
  status(signal: AbortSignal): Promise<JobStatus>;
  /** Whether `read` of attempt 0 reads the latest attempt and names it, so that the job need not be asked for first. */
  namesAttempt?: boolean;
  /** A chunk without data only shows that the hub has answered. */
  read(position: OutputPosition, signal: AbortSignal): AsyncIterable<ReadChunk>;
};

type ReadChunk = { data: Uint8Array; offset: number; attempt?: number | undefined };

/**
 * The bytes of a job's output, each exactly once, with the attempt they belong to. After a broken connection or a
 * restart of the hub it asks for the rest, from the first byte that it has not yielded yet.
 */
export async function* streamAttempts(
  own: StreamDeps,
  options: StreamAttemptsOptions,
): AsyncGenerator<AttemptChunk> {
  const deps = { ...own, status: options.status ?? own.status };
  const deadline = openDeadline(deps.clock, { signal: options.signal });
  const { signal } = deadline;
  const follow = options.follow ?? true;
  const source: AttemptStream = {
    deps,
    stream: options.stream ?? "stdout",
    signal,
    onTrouble: options.onTrouble,
    pace: new Pace(deps),
  };
  try {
    const position: StreamPosition = {
      attempt: options.attempt ?? 0,
      offset: options.offset ?? 0,
      isNext: false,
    };
    if (!follow || (options.attempt === undefined && deps.namesAttempt !== true)) {
      const first = await deps.status(signal);
      source.pace.answered();
      // A job that was not claimed yet has no attempt; a follower means the first one.
      position.attempt ||= Math.max(1, first.attempt);
      if (!follow) return yield* readWhatIsThere(source, position, first);
    }
    for (;;) {
      const job = yield* readAttempt(source, position);
      if (job === null) return;
      if (options.goOn !== true || (isOver(job) && job.attempt <= position.attempt)) return;
      position.attempt += 1;
      position.offset = 0;
      position.isNext = true;
      options.onNext?.({ attempt: position.attempt, job });
    }
  } finally {
    deadline.release();
  }
}

type StreamPosition = {
  /** 0 until it is known which one is the latest. */
  attempt: number;
  offset: number;
  /** Whether it is an attempt that was expected after another one. It may never come. */
  isNext: boolean;
};
type AttemptStream = {
  deps: StreamDeps;
  stream: OutputStream;
  signal: AbortSignal;
  onTrouble: StreamAttemptsOptions["onTrouble"];
  pace: Pace;
};

/** Reads an attempt to its end and returns the job as it was then; null if the job ended instead of trying again. */
async function* readAttempt(
  source: AttemptStream,
  position: StreamPosition,
): AsyncGenerator<AttemptChunk, JobStatus | null> {
  const { deps, pace, signal } = source;
  for (;;) {
    const from = position.offset;
    try {
      yield* readOn(source, position);
      const job = await deps.status(signal);
      pace.answered();
      position.attempt ||= job.attempt;
      if (isComplete(source, { ...position, from }, job)) return job;
      await pace.pause(signal);
    } catch (error) {
      if (position.isNext && hasCode(error, "NOT_FOUND")) return null;
      source.onTrouble?.(error);
      await pace.pauseAfter(asHubBehind(error, position.offset), signal);
    }
  }
}

/** Of the latest attempt, the bytes that the hub had when it was asked; of an earlier one, all. */
async function* readWhatIsThere(
  source: AttemptStream,
  position: StreamPosition,
  job: JobStatus,
): AsyncGenerator<AttemptChunk> {
  if (position.attempt > Math.max(1, job.attempt)) throw neverStarted(position, job);
  if (position.attempt > job.attempt) return;
  const end = position.attempt < job.attempt ? Number.POSITIVE_INFINITY : sizeOf(source, job);
  while (position.offset < end) {
    const from = position.offset;
    try {
      for await (const chunk of readOn(source, position)) {
        yield { ...chunk, data: chunk.data.subarray(0, end - chunk.offset) };
        if (position.offset >= end) return;
      }
      if (position.attempt < job.attempt && position.offset === from) return;
      await source.pace.pause(source.signal);
    } catch (error) {
      await source.pace.pauseAfter(error, source.signal);
    }
  }
}

function neverStarted({ attempt }: StreamPosition, job: JobStatus): WritError {
  const latest = `its latest is ${job.attempt}`;
  return new WritError("NOT_FOUND", `attempt ${attempt} of job ${job.job_id} has never started; ${latest}`);
}

async function* readOn(source: AttemptStream, position: StreamPosition): AsyncGenerator<AttemptChunk> {
  const { deps, stream, signal, pace } = source;
  for await (const { data, offset, attempt } of deps.read({ ...position, stream }, signal)) {
    pace.answered();
    // From here on it is this attempt, even if another one begins before the connection breaks.
    position.attempt ||= attempt ?? 0;
    const fresh = withoutKnown(data, offset, position);
    if (fresh.length === 0) continue;
    const from = position.offset;
    // Counted before it is yielded: a reader that stops and comes back must not get it twice.
    position.offset += fresh.length;
    pace.progressed();
    yield { attempt: position.attempt, offset: from, data: fresh };
  }
}

/** The part of a chunk that has not been yielded yet. */
function withoutKnown(data: Uint8Array, offset: number, position: StreamPosition): Uint8Array {
  if (data.length === 0 || offset + data.length <= position.offset) return data.subarray(0, 0);
  if (offset <= position.offset) return data.subarray(position.offset - offset);
  throw new WritError(
    "OUTPUT_UNAVAILABLE",
    `bytes ${position.offset} to ${offset} of this output are missing`,
  );
}

/**
 * The normal end of a stream is trusted only if the job agrees, so that a stopping hub cannot cut it short. A job does not
 * tell the size of an earlier attempt: all of it is here when a read has brought nothing more.
 */
function isComplete(
  source: AttemptStream,
  position: StreamPosition & { from: number },
  job: JobStatus,
): boolean {
  if (job.attempt > position.attempt) return position.offset === position.from;
  if (job.attempt === 0 || job.attempt < position.attempt) return isOver(job);
  // The processes of a stopped job may be dead before all of its output has arrived: then it has not ended yet.
  if (job.state === "RUNNING" || (job.state === "STOPPED" && job.ended_at === null)) return false;
  return position.offset >= sizeOf(source, job);
}

function sizeOf({ stream }: AttemptStream, job: JobStatus): number {
  return stream === "stderr" ? job.stderr_bytes : job.stdout_bytes;
}
