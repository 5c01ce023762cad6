import type { JobCounts, ListFilter } from "../../../contract/list-query.ts";
import type { Identity } from "../../../core/identity.ts";
import type { ListedState } from "../../../core/jobs/job.ts";
import type { HubDeps } from "../../deps.ts";
import { countJobs } from "./list-jobs.ts";

type Count = JobCounts["failed"];
type Request = { identity: Identity; filter: Omit<ListFilter, "status"> };

/** How many of the caller's jobs are in each state, of those that fit the filter. */
export async function countStates(deps: HubDeps, request: Request): Promise<JobCounts> {
  const count = (state: ListedState) => countState(deps, request, state);
  return {
    pending: await count("waiting"),
    scheduled: await count("scheduled"),
    assigned: await count("assigned"),
    running: await count("running"),
    completed: await count("completed"),
    ...(await countFailed(deps, request)),
    quarantined: await count("quarantined"),
  };
}

const none: Count = { count: 0, is_more: false };

/** Counts failed and cancelled jobs, which the store distinguishes by their code. */
async function countFailed(
  deps: HubDeps,
  request: Request,
): Promise<Pick<JobCounts, "failed" | "cancelled">> {
  const { fail_code: code } = request.filter;
  const all = await countState(deps, request, "failed");
  if (code === "CANCELLED") return { failed: none, cancelled: all };
  if (code !== undefined || all.count === 0) return { failed: all, cancelled: none };
  const coded = (fail_code: "CANCELLED" | "!CANCELLED") =>
    countState(deps, { ...request, filter: { ...request.filter, fail_code } }, "failed");
  const cancelled = await coded("CANCELLED");
  // The sum is often known without counting; if counting ended early, the difference is meaningless.
  const failed = cancelled.is_more
    ? await coded("!CANCELLED")
    : { count: Math.max(0, all.count - cancelled.count), is_more: all.is_more };
  return { failed, cancelled };
}

async function countState(deps: HubDeps, { identity, filter }: Request, state: ListedState): Promise<Count> {
  const { count, isMore } = await countJobs(deps, { identity, filter: { ...filter, status: [state] } });
  return { count, is_more: isMore };
}
