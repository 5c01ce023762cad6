import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import type { HubDeps } from "../../deps.ts";

/**
 * Records that the database was edited, and returns the refusal: the hub signs nothing over the edit. Why: ADR 0006.
 */
export async function brokenSeal(
  deps: HubDeps,
  job: Pick<JobRecord, "id" | "tenantId">,
  { what, origin }: { what: "document" | "receipt"; origin: Origin },
): Promise<WritError> {
  // A caller that reads it repeatedly must not fill the trail.
  await deps.refusals.record({
    event: "INVALID_SIGNATURE",
    caller: `job ${job.id}`,
    tenantId: job.tenantId,
    jobId: job.id,
    origin,
    details: {
      violation_type: "SEAL",
      job_id: job.id,
      error: `the stored ${what} does not match its seal`,
    },
  });
  return new WritError("INVALID_SIGNATURE", `the stored ${what} of job ${job.id} does not match its seal`);
}
