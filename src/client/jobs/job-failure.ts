// The error of a job that ended without a result. Why: ADR 0037.
import { WritError } from "../../core/errors.ts";
import type { Job } from "../shapes.ts";

/** A job that ended without a result. `job` is the whole job: its failure code, its history, its last output sizes. */
export class JobFailure extends WritError {
  override readonly code = "JOB_FAILED";
  readonly job: Job;

  constructor(job: Job) {
    const { id, type, status, attempts, max_attempts, fail_code, fail_reason } = job;
    const reason = job.fail_history.at(-1)?.reason ?? fail_reason ?? "no reason was given";
    const tries = `attempt ${attempts} of ${max_attempts}`;
    super("JOB_FAILED", `job ${id} (${type}) is ${status} after ${tries}: ${reason}`, {
      job_id: id,
      job_status: status,
      fail_code,
      fail_reason,
    });
    this.name = "JobFailure";
    this.job = job;
  }
}
