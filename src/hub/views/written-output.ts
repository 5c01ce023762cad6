import { isActive, isEnded, type JobRecord } from "../../core/jobs/job.ts";
import { type OutputStream, outputStreams } from "../../core/jobs/output-stream.ts";
import type { ReadableOutputs, StreamSizes } from "../../output/outputs.ts";
import type { StoredJob } from "../../store/store.ts";

export type WrittenOutput = {
  /** How much was written, even if it was removed. */
  sizes: StreamSizes;
  /** The streams whose written bytes are lost. An empty stream has lost nothing. */
  lost: OutputStream[];
  /** Whether the hub itself removed the output to make room. */
  isDropped: boolean;
};

const nothing: StreamSizes = { stdout: 0, stderr: 0 };

/**
 * The output of an attempt. After a restore without `outputs/`, the database has sizes of output that does not exist. A
 * worker may still send the output of an attempt that has not ended, so that is not lost yet.
 */
export async function writtenOutput(
  outputs: ReadableOutputs,
  { job, output }: Pick<StoredJob, "job" | "output">,
  attempt: number,
): Promise<WrittenOutput> {
  if (attempt === 0) return { sizes: nothing, lost: [], isDropped: false };
  const noted = output.sizes[attempt] ?? nothing;
  const isDropped = attempt <= output.throughAttempt;
  const found = isDropped ? nothing : await outputs.sizes({ jobId: job.id, attempt });
  const lost = isAttemptOver(job, attempt)
    ? outputStreams.filter((stream) => found[stream] === 0 && noted[stream] > 0)
    : [];
  const sizeOf = (stream: OutputStream): number => (lost.includes(stream) ? noted : found)[stream];
  return { sizes: { stdout: sizeOf("stdout"), stderr: sizeOf("stderr") }, lost, isDropped };
}

/** An attempt has ended when a later one exists, when no worker holds it any more, or when it will never start. */
export function isAttemptOver(job: JobRecord, attempt: number): boolean {
  if (job.attempt > attempt || isEnded(job.status)) return true;
  return job.attempt === attempt && !isActive(job.status);
}
