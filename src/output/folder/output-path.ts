import { join, sep } from "node:path";
import type { OutputStream } from "../../core/jobs/output-stream.ts";
import { checkJobId, checkName } from "../check-name.ts";

/** The only way to make a path: no unchecked text from outside reaches the file system. */
export function outputPath(root: string, jobId: string, attempt: number, stream: OutputStream): string {
  checkName({ jobId, attempt, stream });
  return join(jobOutputDir(root, jobId), String(attempt), `${stream}.log`);
}

/** The folder of everything that a job has written, in all its attempts. */
export function jobOutputDir(root: string, jobId: string): string {
  checkJobId(jobId);
  // Ids begin with the time, so only their random end spreads jobs evenly over folders.
  return join(root, jobId.slice(-12, -10), jobId);
}

/** Job, attempt and stream: enough for a message, which may leave this machine and must not show our paths. */
export function shortPath(path: string): string {
  return path.split(sep).slice(-3).join("/");
}
