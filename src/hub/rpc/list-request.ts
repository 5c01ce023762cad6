import { type ListJobsRequest, State } from "../../contract/gen/writ/v1/job_service_pb.js";
import { statusOfView } from "../../contract/job-status.ts";
import { type ListFilter, listFilter } from "../../contract/list-query.ts";
import { invalidArgument } from "../../core/errors.ts";
import type { JobStatus } from "../../core/jobs/job-status.ts";
import { filterOfState, type GrpcState, statesBehind } from "../../core/jobs/state-names.ts";
import { parseShape } from "../use-cases/access/parse-shape.ts";
import { countJobs, listJobs, summarizeJobs } from "../use-cases/jobs/list-jobs.ts";
import type { RpcCall } from "./call.ts";

const pageSizeDefault = 50;
const pageSizeMax = 1000;
/** How many pages one call examines for a state that only some of their jobs have; the next call continues there. */
const looksMax = 5;

/** One page, newest first. A page may be short without being the last: only an empty token means the end. */
export async function listPage(
  { deps, identity }: RpcCall,
  request: ListJobsRequest,
): Promise<{ jobs: JobStatus[]; nextPageToken: string }> {
  const limit = pageSizeOf(request);
  const state = stateOf(request);
  const { filter } = filterOf(request, state);
  let cursor: string | null = tokenOf(request);
  for (let look = 0; look < looksMax; look++) {
    const page = await listJobs(deps, { identity, filter, limit, cursor: cursor ?? undefined });
    const views = await summarizeJobs(deps, page.jobs, identity);
    const jobs = views.map(statusOfView).filter((job) => state === undefined || job.state === state);
    if (jobs.length > 0 || page.nextCursor === null) return { jobs, nextPageToken: page.nextCursor ?? "" };
    cursor = page.nextCursor;
  }
  return { jobs: [], nextPageToken: cursor ?? "" };
}

/** How many jobs fit, if the caller asks and it can be counted. */
export async function totalOf(
  { deps, identity }: RpcCall,
  request: ListJobsRequest,
): Promise<{ total?: number; totalIsMore?: boolean }> {
  const state = stateOf(request);
  if (!request.count) return {};
  const { filter, isExact } = filterOf(request, state);
  if (!isExact) return {};
  const { count, isMore } = await countJobs(deps, { identity, filter });
  return { total: count, totalIsMore: isMore };
}

/** The same filters as over HTTP, in the same shape. A field that is empty or 0 is no filter. */
function filterOf(
  request: ListJobsRequest,
  state: GrpcState | undefined,
): { filter: ListFilter; isExact: boolean } {
  const { type, worker, user, status, failCode, since, until, search, id } = request;
  const given = {
    type,
    worker_id: worker,
    user_id: user,
    status,
    fail_code: failCode,
    since: since === 0n ? "" : String(since),
    until: until === 0n ? "" : String(until),
    q: search,
    id,
  };
  const filled = Object.entries(given).filter(([, value]) => value !== "");
  const filter = parseShape(listFilter, Object.fromEntries(filled));
  const ofState = filterOfState(state, filter.status);
  const fail_code = ofState.failCode ?? filter.fail_code;
  return { filter: { ...filter, status: ofState.statuses, fail_code }, isExact: ofState.isExact };
}

function pageSizeOf({ pageSize }: ListJobsRequest): number {
  if (pageSize <= pageSizeMax) return pageSize || pageSizeDefault;
  throw invalidArgument({ path: "page_size", message: `must be at most ${pageSizeMax}` });
}

function tokenOf({ pageToken }: ListJobsRequest): string | null {
  if (pageToken === "") return null;
  if (/^\d{1,15}$/.test(pageToken)) return pageToken;
  throw invalidArgument({ path: "page_token", message: "must be the next_page_token of the previous page" });
}

function stateOf({ state }: ListJobsRequest): GrpcState | undefined {
  if (state === State.UNKNOWN) return undefined;
  const name = State[state];
  if (name !== undefined && Object.hasOwn(statesBehind, name)) return name as GrpcState;
  throw invalidArgument({ path: "state", message: "is not a state" });
}
