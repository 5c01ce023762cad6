import { WritError } from "../../core/errors.ts";
import type { Origin } from "../../core/events.ts";
import { accessToJob, type Identity } from "../../core/identity.ts";
import type { StoredJob } from "../../store/store.ts";
import type { HubDeps } from "../deps.ts";
import { recordEvent } from "./record-event.ts";

/** The job, if this caller may read or change it. One of another tenant answers exactly like one that is not there. */
export async function findJob(
  deps: HubDeps,
  input: { identity: Identity; jobId: string; to: "read" | "change"; origin: Origin },
): Promise<StoredJob> {
  const stored = await deps.store.getJob({ jobId: input.jobId });
  if (stored === null) throw notFound(input.jobId);
  const access = accessToJob(input.identity, stored.job, input.to);
  if (access === "allowed") return stored;
  await recordEvent(deps, {
    event: "PERMISSION_DENIED",
    tenantId: input.identity.tenantId,
    jobId: input.jobId,
    origin: input.origin,
    details: { job_id: input.jobId },
  });
  if (access === "hidden") throw notFound(input.jobId);
  throw new WritError("PERMISSION_DENIED", "the job belongs to another user");
}

function notFound(jobId: string): WritError {
  return new WritError("NOT_FOUND", `there is no job ${jobId}`);
}
