import { type ListJobsRequest, State } from "../../contract/gen/writ/v1/job_service_pb.js";
import { invalidArgument } from "../../core/errors.ts";
import { type GrpcState, grpcState, statesBehind } from "../../core/state-names.ts";
import type { StoredJob } from "../../store/store.ts";
import { listJobs } from "../use-cases/jobs/list-jobs.ts";
import type { RpcCall } from "./call.ts";

const pageSizeDefault = 50;
const pageSizeMax = 1000;
/** How many jobs one call examines for a state that only some of them have; the next page continues from there. */
const looksMax = 10_000;

/** One page, newest first. A page may be short without being the last: only an empty token means the end. */
export async function listPage(
  { deps, identity }: RpcCall,
  request: ListJobsRequest,
): Promise<{ jobs: StoredJob[]; nextPageToken: string }> {
  const limit = pageSizeOf(request);
  const state = stateOf(request);
  const behind = state === null ? [] : statesBehind[state];
  const jobs: StoredJob[] = [];
  let cursor: string | null = tokenOf(request);
  for (let looked = 0; looked < looksMax; looked += limit) {
    const page = await listJobs(deps, {
      identity,
      status: behind.length === 1 ? behind[0] : undefined,
      type: request.type || undefined,
      workerId: request.worker || undefined,
      limit,
      cursor: cursor ?? undefined,
    });
    for (const stored of page.jobs) {
      if (state !== null && grpcState(stored.job) !== state) continue;
      jobs.push(stored);
      if (jobs.length === limit) return { jobs, nextPageToken: String(stored.job.seq) };
    }
    if (page.nextCursor === null) return { jobs, nextPageToken: "" };
    cursor = page.nextCursor;
  }
  return { jobs, nextPageToken: cursor ?? "" };
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

function stateOf({ state }: ListJobsRequest): GrpcState | null {
  if (state === State.UNKNOWN) return null;
  const name = State[state];
  if (name !== undefined && Object.hasOwn(statesBehind, name)) return name as GrpcState;
  throw invalidArgument({ path: "state", message: "is not a state" });
}
