import { WritError } from "../../core/errors.ts";
import type { Origin } from "../../core/events.ts";
import { accessToJob, type Identity } from "../../core/identity.ts";
import type { StoredJob } from "../../store/store.ts";
import type { HubDeps } from "../deps.ts";
import { recordDenial } from "./record-denial.ts";

/** The job, if this caller may read or change it. One of another tenant answers exactly like one that is not there. */
export async function findJob(
  deps: HubDeps,
  input: { identity: Identity; jobId: string; to: "read" | "change"; origin: Origin },
): Promise<StoredJob> {
  const stored = await deps.store.getJob({ jobId: input.jobId });
  if (stored === null) throw notFound(input.jobId);
  const access = accessToJob(input.identity, stored.job, input.to);
  if (access === "allowed") return stored;
  if (access === "hidden") throw await hidden(deps, input);
  throw new WritError("PERMISSION_DENIED", "the job belongs to another user", { job_id: input.jobId });
}

/** Nobody but the audit trail can tell this from a job that does not exist. */
export async function hidden(
  deps: HubDeps,
  asked: { identity: Identity; jobId: string; origin: Origin },
): Promise<WritError> {
  const { identity, jobId, origin } = asked;
  const denied = new WritError("PERMISSION_DENIED", "the job belongs to another tenant", { job_id: jobId });
  await recordDenial(deps, { identity, origin }, denied);
  return notFound(jobId);
}

export function notFound(jobId: string): WritError {
  return new WritError("NOT_FOUND", `there is no job ${jobId}`);
}
