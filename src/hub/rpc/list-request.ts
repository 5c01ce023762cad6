import type { listJobsRequest } from "../../contract/gen/writ/v1/job_service.ts";
import { statusOfView } from "../../contract/job-status.ts";
import { type ListFilter, listFilter } from "../../contract/list-query.ts";
import { invalidArgument } from "../../core/errors.ts";
import type { JobStatus } from "../../core/jobs/job-status.ts";
import { filterOfState, type GrpcState } from "../../core/jobs/state-names.ts";
import type { MessageOf } from "../../runtime/grpc/wire-message.ts";
import { parseShape } from "../use-cases/access/parse-shape.ts";
import { countJobs, listJobs, summarizeJobs } from "../use-cases/jobs/list-jobs.ts";
import type { RpcCall } from "./call.ts";

type ListJobsRequest = MessageOf<typeof listJobsRequest>;

const pageSizeDefault = 50;
const pageSizeMax = 1000;
/**
 * How many pages one call examines for a state that only some of their jobs have; the next call continues where it
 * stopped.
 */
const looksMax = 5;

/** One page, newest first. A page may be short without being the last: only an empty token means the end. */
export async function listPage(
  { deps, identity }: RpcCall,
  request: ListJobsRequest,
): Promise<{ jobs: JobStatus[]; next_page_token: string }> {
  const limit = pageSizeOf(request);
  const state = stateOf(request);
  const { filter } = filterOf(request, state);
  let cursor: string | null = tokenOf(request);
  for (let look = 0; look < looksMax; look++) {
    const page = await listJobs(deps, { identity, filter, limit, cursor: cursor ?? undefined });
    const views = await summarizeJobs(deps, page.jobs, identity);
    const jobs = views.map(statusOfView).filter((job) => state === undefined || job.state === state);
    if (jobs.length > 0 || page.nextCursor === null) return { jobs, next_page_token: page.nextCursor ?? "" };
    cursor = page.nextCursor;
  }
  return { jobs: [], next_page_token: cursor ?? "" };
}

/** How many jobs match, if the caller requests it and they can be counted. */
export async function totalOf(
  { deps, identity }: RpcCall,
  request: ListJobsRequest,
): Promise<{ total?: number; total_is_more?: boolean }> {
  const state = stateOf(request);
  if (!request.count) return {};
  const { filter, isExact } = filterOf(request, state);
  if (!isExact) return {};
  const { count, isMore } = await countJobs(deps, { identity, filter });
  return { total: count, total_is_more: isMore };
}

/** The same filters as over HTTP, in the same shape. A field that is empty or 0 is no filter. */
function filterOf(
  request: ListJobsRequest,
  state: GrpcState | undefined,
): { filter: ListFilter; isExact: boolean } {
  const { type, worker, user, status, fail_code, since, until, search, id, label, schedule } = request;
  const given = {
    type,
    worker_id: worker,
    user_id: user,
    status,
    fail_code,
    since: since === 0 ? "" : String(since),
    until: until === 0 ? "" : String(until),
    q: search,
    id,
    label,
    schedule,
  };
  const filled = Object.entries(given).filter(([, value]) => value !== "");
  const filter = parseShape(listFilter, Object.fromEntries(filled));
  const ofState = filterOfState(state, filter.status);
  const failCode = ofState.failCode ?? filter.fail_code;
  return { filter: { ...filter, status: ofState.statuses, fail_code: failCode }, isExact: ofState.isExact };
}

function pageSizeOf({ page_size }: ListJobsRequest): number {
  if (page_size <= pageSizeMax) return page_size || pageSizeDefault;
  throw invalidArgument({ path: "page_size", message: `must be at most ${pageSizeMax}` });
}

function tokenOf({ page_token }: ListJobsRequest): string | null {
  if (page_token === "") return null;
  if (/^\d{1,15}$/.test(page_token)) return page_token;
  throw invalidArgument({ path: "page_token", message: "must be the next_page_token of the previous page" });
}

function stateOf({ state }: ListJobsRequest): GrpcState | undefined {
  if (typeof state === "number") throw invalidArgument({ path: "state", message: "is not a state" });
  return state === "UNKNOWN" ? undefined : state;
}
