import { jobRoutes } from "../../contract/routes/job-routes.ts";
import { invalidArgument } from "../../core/errors.ts";
import { checkOptions, type OptionNames } from "../../runtime/check-options.ts";
import type { HubCaller } from "../hub/hub-caller.ts";
import type { BulkOutcome, JobSummary, ListFilter } from "../shapes.ts";

export type ListPage = { jobs: JobSummary[]; nextCursor: string | undefined };

/** Which jobs to change, and whether only to count them. */
export type ChangeJobsOptions = { dryRun?: boolean } & (
  | { ids: readonly string[]; filter?: undefined }
  | { filter: ListFilter; ids?: undefined }
);

const filterNames: OptionNames<ListFilter> = {
  status: true,
  type: true,
  workerId: true,
  userId: true,
  failCode: true,
  label: true,
  schedule: true,
  since: true,
  until: true,
  search: true,
  id: true,
};

export type PageOptions = { limit?: number | undefined; cursor?: string | undefined };

const pageOptions: OptionNames<PageOptions> = { limit: true, cursor: true };

const changeOptions: OptionNames<ChangeJobsOptions> = { ids: true, filter: true, dryRun: true };

/** One page of the jobs that fit, newest first. */
export async function listJobsPage(hub: HubCaller, filter: ListFilter, page: PageOptions): Promise<ListPage> {
  checkOptions("a filter of jobs", filter, filterNames);
  checkOptions("listPage", page, pageOptions);
  const { limit, cursor } = page;
  const query = { ...wireFilter(filter), status: statusesOf(filter), limit, cursor };
  const { body, header } = await hub.call(jobRoutes.listJobs, { query });
  return { jobs: body, nextCursor: header("x-next-cursor") };
}

/** Cancels or retries many jobs in one call. */
export async function changeJobs(
  hub: HubCaller,
  act: "cancel" | "retry",
  options: ChangeJobsOptions,
): Promise<BulkOutcome> {
  checkOptions("changeJobs", options, changeOptions);
  const { ids, filter, dryRun } = options;
  if (filter !== undefined) checkChosen(filter);
  const which = {
    ids: ids && [...ids],
    filter: filter && { ...wireFilter(filter), status: statusesOf(filter)?.join(",") },
  };
  return (await hub.call(jobRoutes.changeJobs, { body: { act, ...which, dry_run: dryRun } })).body;
}

/** What is left out of a filter chooses more jobs, so a field without a value is a mistake of the program. */
function checkChosen(filter: ListFilter): void {
  checkOptions("a filter of jobs", filter, filterNames);
  for (const [name, value] of Object.entries(filter)) {
    if (value !== undefined) continue;
    const message = "is undefined, which would choose jobs with any value; give a value, or leave it out";
    throw invalidArgument({ path: `filter.${name}`, message });
  }
}

function wireFilter({ workerId, userId, failCode, search, status: _, ...alike }: ListFilter) {
  return { ...alike, worker_id: workerId, user_id: userId, fail_code: failCode, q: search };
}

function statusesOf({ status }: ListFilter) {
  return status === undefined ? undefined : [status].flat();
}
