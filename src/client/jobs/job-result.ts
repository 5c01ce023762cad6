import { WritError } from "../../core/errors.ts";
import { isEnded } from "../../core/jobs/job.ts";
import type { Job } from "../shapes.ts";

/** What a completed job has given back. Any other job is refused. */
export function resultOf(job: Job): unknown {
  if (job.status === "completed") {
    const lost = job.damaged?.filter((part) => part === "result" || part === "row") ?? [];
    if (lost.length === 0) return job.result;
    throw new WritError("STORE_CORRUPT", `the result of job ${job.id} is damaged in the hub's database`);
  }
  const why = isEnded(job.status) ? `${job.status}: ${job.fail_reason ?? "no reason given"}` : job.status;
  throw new WritError("STATE_CONFLICT", `the job has no result: it is ${why}`, {
    job_status: job.status,
    fail_code: job.fail_code,
    fail_reason: job.fail_reason,
  });
}
