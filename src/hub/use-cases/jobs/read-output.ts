import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import type { OutputStream } from "../../../core/jobs/output-stream.ts";
import type { OutputName } from "../../../output/outputs.ts";
import type { HubDeps } from "../../deps.ts";
import { isAttemptOver, type WrittenOutput, writtenOutput } from "../../views/written-output.ts";
import { findJob } from "./find-job.ts";

type OutputRequest = {
  identity: Identity;
  origin: Origin;
  jobId: string;
  stream: OutputStream;
  /** The attempt (default: the latest). */
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
  // A job that no worker has claimed yet has no attempt; a follower means the first one.
  const attempt = request.attempt ?? Math.max(1, job.attempt);
  const output = { jobId: job.id, attempt, stream: request.stream };
  refuseNeverStarted(job, attempt);
  const written = await writtenOutput(deps.outputs, stored, attempt);
  refuseLost(output, written);
  return {
    attempt,
    size: written.sizes[output.stream],
    read: (start, end) => deps.outputs.read(output, { start, end }),
    follow: (offset, signal) =>
      deps.outputs.follow(output, {
        offset,
        signal,
        ended: () => attemptOver(deps, { jobId: job.id, attempt, signal }),
      }),
  };
}

/**
 * Refuses an attempt that will not start. A waiting job has its next attempt ahead; other higher numbers will never
 * exist.
 */
function refuseNeverStarted({ id, status, attempt: latest }: JobRecord, attempt: number): void {
  const highest = status === "pending" ? latest + 1 : Math.max(1, latest);
  if (attempt <= highest) return;
  throw new WritError(
    "NOT_FOUND",
    `attempt ${attempt} of job ${id} has never started; its latest is ${latest}`,
  );
}

function refuseLost({ jobId, attempt, stream }: OutputName, { sizes, lost, isDropped }: WrittenOutput): void {
  if (!lost.includes(stream)) return;
  const size = sizes[stream];
  const why = isDropped
    ? "were removed to make room (WRIT_MAX_STORAGE_BYTES)"
    : "are not in the hub's outputs; they were not restored with it";
  throw new WritError(
    "OUTPUT_REMOVED",
    `the ${size} bytes that attempt ${attempt} of job ${jobId} wrote to ${stream} ${why}`,
    { size },
  );
}

async function attemptOver(
  deps: HubDeps,
  waiting: { jobId: string; attempt: number; signal: AbortSignal },
): Promise<void> {
  await deps.feed.waitForJob(waiting.jobId, ({ job }) => isAttemptOver(job, waiting.attempt), waiting.signal);
}
