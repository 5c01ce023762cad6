import { invalidArgument } from "../../core/errors.ts";
import { isJobId } from "../../core/ids.ts";
import { notFound } from "../use-cases/access/unknown-job.ts";
import type { RpcCall } from "./call.ts";

const idCharsShownMax = 100;

/** The id of the call's job. A text that is not an id names no job, so the store is not queried. */
export function jobIdIn(call: RpcCall, { job_id: jobId }: { job_id: string }): string {
  if (jobId === "") throw invalidArgument({ path: "job_id", message: "must not be empty" });
  if (!isJobId(jobId)) throw notFound(jobId.slice(0, idCharsShownMax));
  call.noteJob(jobId);
  return jobId;
}
