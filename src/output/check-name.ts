import { WritError } from "../core/errors.ts";
import { isJobId } from "../core/ids.ts";
import { outputStreams } from "../core/jobs/output-stream.ts";
import type { OutputName } from "./outputs.ts";

/** Every driver checks names itself: they come from outside, and become paths and keys. */
export function checkName({ jobId, attempt, stream }: OutputName): void {
  checkAttempt(attempt);
  if (!outputStreams.includes(stream)) throw refusal("stream", stream);
  checkJobId(jobId);
}

export function checkAttempt(attempt: number): void {
  if (!Number.isSafeInteger(attempt) || attempt < 1) throw refusal("attempt", attempt);
}

export function checkJobId(jobId: string): void {
  if (typeof jobId !== "string" || !isJobId(jobId)) throw refusal("job id", jobId);
}

function refusal(what: string, value: unknown): WritError {
  return new WritError("OUTPUT_UNAVAILABLE", `there is no output for ${what} ${JSON.stringify(value)}`);
}
