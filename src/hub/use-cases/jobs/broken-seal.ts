import { WritError } from "../../../core/errors.ts";
import type { JobRecord } from "../../../core/job.ts";
import type { HubDeps } from "../../deps.ts";
import { recordEvent } from "../audit/record-event.ts";

/** Somebody has edited the database. It is recorded, and the caller gets nothing that was signed over the edit. */
export async function brokenSeal(
  deps: HubDeps,
  job: Pick<JobRecord, "id" | "tenantId">,
  what: "document" | "receipt",
): Promise<WritError> {
  await recordEvent(deps, {
    event: "INVALID_SIGNATURE",
    tenantId: job.tenantId,
    jobId: job.id,
    origin: null,
    details: {
      violation_type: "SEAL",
      job_id: job.id,
      error: `the stored ${what} does not match its seal`,
    },
  });
  return new WritError("INVALID_SIGNATURE", `the stored ${what} of job ${job.id} does not match its seal`);
}
