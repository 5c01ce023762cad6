import { invalidArgument } from "../../../core/errors.ts";
import type { Identity } from "../../../core/identity.ts";
import type { JobState } from "../../../core/job.ts";
import type { StoredJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";

type ListRequest = {
  identity: Identity;
  status?: JobState;
  type?: string;
  workerId?: string;
  limit: number;
  offset?: number;
  cursor?: string;
};

/** The jobs that the caller may see, newest first, with the cursor of the next page if there may be one. */
export async function listJobs(
  deps: HubDeps,
  request: ListRequest,
): Promise<{ jobs: StoredJob[]; nextCursor: string | null }> {
  const { identity, status, type, workerId, limit, offset } = request;
  const jobs = await deps.store.listJobs({
    ...visibleTo(identity),
    status,
    type,
    workerId,
    limit,
    offset,
    before: request.cursor === undefined ? undefined : parseCursor(request.cursor),
  });
  return { jobs, nextCursor: jobs.length < limit ? null : String(jobs.at(-1)!.job.seq) };
}

/** A user sees its own jobs, others all of their tenant, or of every tenant if they are bound to none. */
export function visibleTo(identity: Identity): { tenantId?: string; userId?: string } {
  return {
    tenantId: identity.tenantId ?? undefined,
    userId: identity.role === "user" ? identity.userId : undefined,
  };
}

function parseCursor(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw invalidArgument({
    path: "cursor",
    message: "must be the value of X-Next-Cursor of the previous page",
  });
}
