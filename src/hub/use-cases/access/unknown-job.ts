import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { HubDeps } from "../../deps.ts";
import { recordUnknownJob } from "./record-denial.ts";

type JobCall = { identity: Identity; jobId: string; origin: Origin };

/** The refusal for a job that does not exist or that the caller may not see; the two look the same. Why: ADR 0026. */
export async function unknownJob(deps: Pick<HubDeps, "refusals">, call: JobCall): Promise<WritError> {
  await recordUnknownJob(deps, call);
  return notFound(call.jobId);
}

export function notFound(jobId: string): WritError {
  return new WritError("NOT_FOUND", `there is no job ${jobId}`);
}
