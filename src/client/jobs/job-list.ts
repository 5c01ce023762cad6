import { jobRoutes } from "../../contract/routes/job-routes.ts";
import type { HubConnection } from "../hub/hub-connection.ts";
import type { BulkOutcome, JobSummary, ListFilter } from "../shapes.ts";

export type ListPage = { jobs: JobSummary[]; nextCursor: string | undefined };

/** Which jobs to change, and whether only to count them. */
export type ChangeJobsOptions = { dryRun?: boolean } & (
  | { ids: readonly string[]; filter?: undefined }
  | { filter: ListFilter; ids?: undefined }
);

/** One page of the jobs that fit, newest first. */
export async function listJobsPage(
  hub: HubConnection,
  filter: ListFilter,
  { limit, cursor }: { limit?: number | undefined; cursor?: string | undefined },
): Promise<ListPage> {
  const query = { ...wireFilter(filter), status: statusesOf(filter), limit, cursor };
  const { body, header } = await hub.call(jobRoutes.listJobs, { query });
  return { jobs: body, nextCursor: header("x-next-cursor") };
}

/** Cancels or retries many jobs in one call. */
export async function changeJobs(
  hub: HubConnection,
  act: "cancel" | "retry",
  { ids, filter, dryRun }: ChangeJobsOptions,
): Promise<BulkOutcome> {
  const which =
    filter === undefined
      ? { ids: [...ids] }
      : { filter: { ...wireFilter(filter), status: statusesOf(filter)?.join(",") } };
  return (await hub.call(jobRoutes.changeJobs, { body: { act, ...which, dry_run: dryRun } })).body;
}

function wireFilter({ type, workerId, userId, failCode, since, until, search, id }: ListFilter) {
  return { type, worker_id: workerId, user_id: userId, fail_code: failCode, since, until, q: search, id };
}

function statusesOf({ status }: ListFilter) {
  return status === undefined ? undefined : [status].flat();
}
