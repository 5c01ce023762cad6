import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { isActive, isEnded, type JobRecord } from "../../../core/job.ts";
import type { OutputStream } from "../../../core/output-stream.ts";
import type { StoredJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { findJob } from "./find-job.ts";

type OutputRequest = {
  identity: Identity;
  origin: Origin;
  jobId: string;
  stream: OutputStream;
  /** The latest by default. */
  attempt?: number;
};

export type Output = {
  attempt: number;
  size: number;
  /** The existing bytes, from `start` to before `end`. */
  read(start: number, end: number): AsyncGenerator<Buffer>;
  /** Everything from `start` on, until the attempt has ended and all is sent. */
  follow(start: number, signal: AbortSignal): AsyncGenerator<Buffer>;
};

/** One stream of one attempt, for a caller who may read the job. */
export async function openOutput(deps: HubDeps, request: OutputRequest): Promise<Output> {
  const stored = await findJob(deps, { ...request, to: "read" });
  const { job } = stored;
  // A job that nobody has claimed yet has no attempt; a follower means the first one.
  const attempt = request.attempt ?? Math.max(1, job.attempt);
  const output = { jobId: job.id, attempt, stream: request.stream };
  refuseNeverStarted(job, attempt);
  refuseDropped(stored, output);
  const sizes = await deps.outputs.sizes(output);
  return {
    attempt,
    size: sizes[output.stream],
    read: (start, end) => deps.outputs.read(output, { start, end }),
    follow: (offset, signal) =>
      deps.outputs.follow(output, {
        offset,
        signal,
        ended: () => attemptOver(deps, { jobId: job.id, attempt, signal }),
      }),
  };
}

/** A job that waits has its next attempt still to come. Any other above its latest would be waited for in vain. */
function refuseNeverStarted({ id, status, attempt: latest }: JobRecord, attempt: number): void {
  const highest = status === "pending" ? latest + 1 : Math.max(1, latest);
  if (attempt <= highest) return;
  throw new WritError(
    "NOT_FOUND",
    `attempt ${attempt} of job ${id} has never started; its latest is ${latest}`,
  );
}

/** A stream to which nothing was written has lost nothing. */
function refuseDropped(
  { job, droppedOutput }: StoredJob,
  { attempt, stream }: { attempt: number; stream: OutputStream },
): void {
  if (droppedOutput === null || attempt > droppedOutput.throughAttempt) return;
  const size = droppedOutput.sizes[attempt]?.[stream] ?? 0;
  if (size === 0) return;
  throw new WritError(
    "OUTPUT_REMOVED",
    `the ${size} bytes that attempt ${attempt} of job ${job.id} wrote to ${stream} were removed to make room`,
    { size },
  );
}

async function attemptOver(
  deps: HubDeps,
  waiting: { jobId: string; attempt: number; signal: AbortSignal },
): Promise<void> {
  await deps.feed.waitForJob(waiting.jobId, ({ job }) => isAttemptOver(job, waiting.attempt), waiting.signal);
}

/** An attempt has ended when a later one exists, when nobody holds it any more, or when it will never start. */
function isAttemptOver(job: JobRecord, attempt: number): boolean {
  if (job.attempt > attempt || isEnded(job.status)) return true;
  return job.attempt === attempt && !isActive(job.status);
}
