import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { accessToJob, type Identity } from "../../../core/identity.ts";
import type { StoredJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { recordDenial } from "../access/record-denial.ts";

/**
 * The job, if this caller may read or change it. A job of another tenant is answered exactly like one that does not
 * exist.
 */
export async function findJob(
  deps: HubDeps,
  input: { identity: Identity; jobId: string; to: "read" | "change"; origin: Origin },
): Promise<StoredJob> {
  const stored = await deps.store.getJob({ jobId: input.jobId });
  if (stored === null) throw notFound(input.jobId);
  await checkAccess(deps, input, stored.job);
  return stored;
}

/** Throws if this caller may not do this to a job of this owner. */
export async function checkAccess(
  deps: HubDeps,
  input: { identity: Identity; jobId: string; to: "read" | "change"; origin: Origin },
  owner: { tenantId: string; userId: string },
): Promise<void> {
  const access = accessToJob(input.identity, owner, input.to);
  if (access === "allowed") return;
  if (access === "hidden") throw await hidden(deps, input);
  throw new WritError("PERMISSION_DENIED", "the job belongs to another user", { job_id: input.jobId });
}

/** Only the audit trail can tell this from a job that does not exist. */
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
