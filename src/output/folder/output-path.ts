import { join, sep } from "node:path";
import { WritError } from "../../core/errors.ts";
import type { OutputStream } from "../../core/output-stream.ts";

// Lower case only: a second spelling of an id would be a second place for the same output.
const jobIdPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The only way to make a path: no unchecked text from outside reaches the file system. */
export function outputPath(root: string, jobId: string, attempt: number, stream: OutputStream): string {
  if (!Number.isSafeInteger(attempt) || attempt < 1) throw refusal("attempt", attempt);
  if (stream !== "stdout" && stream !== "stderr") throw refusal("stream", stream);
  return join(jobOutputDir(root, jobId), String(attempt), `${stream}.log`);
}

/** The folder of everything that a job has written, in all its attempts. */
export function jobOutputDir(root: string, jobId: string): string {
  if (typeof jobId !== "string" || !jobIdPattern.test(jobId)) throw refusal("job id", jobId);
  // Ids begin with the time, so only their random end spreads jobs evenly over folders.
  return join(root, jobId.slice(-12, -10), jobId);
}

/** Job, attempt and stream: enough for a message, which may leave this machine and must not show our paths. */
export function shortPath(path: string): string {
  return path.split(sep).slice(-3).join("/");
}

function refusal(what: string, value: unknown): WritError {
  return new WritError("OUTPUT_UNAVAILABLE", `there is no output for ${what} ${JSON.stringify(value)}`);
}
