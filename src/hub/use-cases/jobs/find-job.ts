import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { accessToJob, type Identity } from "../../../core/identity.ts";
import type { StoredJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { unknownJob } from "../access/unknown-job.ts";
import { compareJob } from "../receipts/compare-job.ts";

type JobCall = { identity: Identity; jobId: string; origin: Origin };

/** The job, if this caller may read or change it. A job of another tenant is treated as missing. */
export async function findJob(
  deps: HubDeps,
  input: JobCall & { to: "read" | "change"; isCompared?: boolean },
): Promise<StoredJob> {
  const { identity, jobId, isCompared = false } = input;
  const stored = await deps.store.getJob({ jobId, tenantId: identity.tenantId, isCompared });
  if (stored === null) throw await unknownJob(deps, input);
  await checkAccess(deps, input, stored.job);
  return stored;
}

/** The job as it is shown by itself: what contradicts its timeline or its receipt is marked as damaged. Why: ADR 0134. */
export async function findComparedJob(deps: HubDeps, call: JobCall): Promise<StoredJob> {
  return compareJob(deps, await findJob(deps, { ...call, to: "read", isCompared: true }));
}

/** Throws if this caller may not do this to a job of this owner. */
export async function checkAccess(
  deps: HubDeps,
  input: JobCall & { to: "read" | "change" },
  owner: { tenantId: string; userId: string },
): Promise<void> {
  const access = accessToJob(input.identity, owner, input.to);
  if (access === "allowed") return;
  if (access === "hidden") throw await unknownJob(deps, input);
  throw new WritError("PERMISSION_DENIED", "the job belongs to another user", { job_id: input.jobId });
}
