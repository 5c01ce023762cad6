import { setImmediate } from "node:timers/promises";
import type { ListFilter } from "../../../contract/list-query.ts";
import type { JobSummary } from "../../../contract/shapes/view-shapes.ts";
import { invalidArgument } from "../../../core/errors.ts";
import type { Identity } from "../../../core/identity.ts";
import { pendingParts, stateBehind } from "../../../core/jobs/job.ts";
import type { JobFilter, ListedJob, ShownJobs } from "../../../store/jobs/job-list.ts";
import type { HubDeps } from "../../deps.ts";
import { showListed } from "./show-job.ts";

type ListRequest = {
  identity: Identity;
  filter: ListFilter;
  /** Only these jobs; ids that do not exist or are not the caller's are left out. */
  ids?: readonly string[] | undefined;
  limit: number;
  offset?: number | undefined;
  cursor?: string | undefined;
};

type ListedPage = {
  jobs: ListedJob[];
  /** Set instead of `jobs` if the store can show them. */
  shown?: ShownJobs | undefined;
  nextCursor: string | null;
  lastEventSeq: number;
};

/**
 * The jobs that the caller may see, newest first, with the cursor of the next page. The last page is the one without a
 * cursor: others may be short, because one call examines a limited number of jobs. Why: ADR 0031, ADR 0070.
 */
export async function listJobs(
  deps: HubDeps,
  request: ListRequest,
  { isShown = false } = {},
): Promise<ListedPage> {
  const { limit, offset, cursor } = request;
  const visible = visibleFilter(request);
  if (visible === null) return { jobs: [], nextCursor: null, lastEventSeq: deps.feed.lastSeq };
  const before = cursor === undefined ? undefined : parseCursor(cursor);
  const shownTo = isShown ? request.identity : undefined;
  const page = await deps.store.listJobs({ ...visible, limit, offset, before, shownTo });
  const { nextBefore, ...rest } = page;
  return { ...rest, nextCursor: nextBefore === null ? null : String(nextBefore) };
}

type ShownPage = Omit<ListedPage, "jobs" | "shown"> & { text: string };

/** The same page as the text of a JSON array. */
export async function listJobsText(deps: HubDeps, request: ListRequest): Promise<ShownPage> {
  const { jobs, shown, ...page } = await listJobs(deps, request, { isShown: true });
  const texts = await inTurns<ShownJobs[number], string>(shown ?? jobs, async (job) =>
    typeof job === "string" ? job : JSON.stringify(await showListed(deps, job, request.identity)),
  );
  return { ...page, text: `[${texts.join(",")}]` };
}

type ListScope = Pick<ListRequest, "identity" | "filter" | "ids">;

/** How many jobs match the filter; counting ends at a bound, and `isMore` says so. */
export async function countJobs(
  deps: HubDeps,
  scope: ListScope,
): Promise<{ count: number; isMore: boolean }> {
  const visible = visibleFilter(scope);
  if (visible === null) return { count: 0, isMore: false };
  if (visible.pendingPart !== "waiting") return deps.store.countJobs(visible);
  // The number of pending jobs is mostly known, and few are scheduled: their difference is cheaper than counting the
  // waiting ones.
  const all = await deps.store.countJobs({ ...visible, pendingPart: undefined });
  const scheduled = await deps.store.countJobs({
    ...visible,
    statuses: ["pending"],
    pendingPart: "scheduled",
  });
  if (all.isMore || scheduled.isMore) return deps.store.countJobs(visible);
  return { count: Math.max(0, all.count - scheduled.count), isMore: false };
}

/** How many pages the store is asked for when few of many jobs match. */
const idPagesMax = 50;

/** The ids of the jobs that match the filter, newest first, up to a limit. */
export async function findJobIds(
  deps: HubDeps,
  scope: ListScope & { limit: number },
): Promise<{ ids: string[]; more: boolean }> {
  const visible = visibleFilter(scope);
  const ids: string[] = [];
  let before: number | null | undefined;
  for (let page = 0; page < idPagesMax && visible !== null && before !== null; page++) {
    if (ids.length === scope.limit) break;
    const found = await deps.store.listJobIds({ ...visible, before, limit: scope.limit - ids.length });
    ids.push(...found.ids);
    before = found.nextBefore;
  }
  return { ids, more: before !== null && before !== undefined };
}

/** The filter for the jobs that the caller may see; null if the caller may see none. */
function visibleFilter({ identity, filter, ids }: ListScope): Omit<JobFilter, "limit"> | null {
  const { tenantId, userId } = visibleTo(identity);
  const { user_id, tenant_id } = filter;
  if (userId !== undefined && user_id !== undefined && user_id !== userId) return null;
  if (tenantId !== undefined && tenant_id !== undefined && tenant_id !== tenantId) return null;
  return {
    ...storeFilter(filter),
    ids,
    tenantId: tenantId ?? tenant_id,
    userId: userId ?? user_id,
  };
}

function storeFilter(filter: ListFilter): Omit<JobFilter, "limit"> {
  const { type, since, until } = filter;
  const isPrefix = type?.endsWith("*") ?? false;
  return {
    ...statesOf(filter.status),
    type: isPrefix ? undefined : type,
    typePrefix: isPrefix ? type!.slice(0, -1) : undefined,
    workerId: filter.worker_id,
    failCode: filter.fail_code,
    label: filter.label,
    schedule: filter.schedule,
    since,
    until,
    search: filter.q,
    idPart: filter.id,
  };
}

/** With both parts of `pending`, the whole state is listed. */
function statesOf(listed: ListFilter["status"]): Pick<JobFilter, "statuses" | "pendingPart"> {
  if (listed === undefined) return {};
  const parts = pendingParts.filter((part) => listed.includes(part) && !listed.includes("pending"));
  return {
    statuses: [...new Set(listed.map(stateBehind))],
    ...(parts.length === 1 ? { pendingPart: parts[0] } : {}),
  };
}

/** This many take a few milliseconds; then other calls are served. */
const summariesPerTurn = 50;

/** What the caller may see of listed jobs. */
export function summarizeJobs(
  deps: Pick<HubDeps, "outputs" | "damage">,
  jobs: ListedJob[],
  identity: Identity,
): Promise<JobSummary[]> {
  return inTurns(jobs, (job) => showListed(deps, job, identity));
}

async function inTurns<Job, Shown>(
  jobs: readonly Job[],
  show: (job: Job) => Promise<Shown>,
): Promise<Shown[]> {
  const shown: Shown[] = [];
  for (let at = 0; at < jobs.length; at += summariesPerTurn) {
    if (at > 0) await setImmediate();
    shown.push(...(await Promise.all(jobs.slice(at, at + summariesPerTurn).map(show))));
  }
  return shown;
}

/** A user sees its own jobs; other roles see all jobs of their tenant, or of every tenant if they are bound to none. */
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
