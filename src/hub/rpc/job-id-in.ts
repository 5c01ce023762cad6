import { invalidArgument } from "../../core/errors.ts";
import { isJobId } from "../../core/ids.ts";
import { notFound } from "../use-cases/access/unknown-job.ts";
import type { RpcCall } from "./call.ts";

const idCharsShownMax = 100;

/** The job that a call is about. A text that is not an id names no job, so nothing has to be looked up. */
export function jobIdIn(call: RpcCall, { job_id: jobId }: { job_id: string }): string {
  if (jobId === "") throw invalidArgument({ path: "job_id", message: "must not be empty" });
  if (!isJobId(jobId)) throw notFound(jobId.slice(0, idCharsShownMax));
  call.noteJob(jobId);
  return jobId;
}
