import type { JobSummary, JobView } from "../../../contract/shapes/view-shapes.ts";
import type { Identity } from "../../../core/identity.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import type { ListedJob } from "../../../store/jobs/job-list.ts";
import type { StoredJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { jobSummary } from "../../views/job-summary.ts";
import { jobView } from "../../views/job-view.ts";

type Deps = Pick<HubDeps, "outputs" | "damage">;

/** A job as this caller may see it. Damaged parts are left out, named and recorded. */
export async function showJob(deps: Deps, stored: StoredJob, identity: Identity): Promise<JobView> {
  return recorded(deps, stored.job, await jobView(deps.outputs, stored, identity));
}

/** The same for a job in a list. */
export async function showListed(deps: Deps, listed: ListedJob, identity: Identity): Promise<JobSummary> {
  return recorded(deps, listed.job, await jobSummary(deps.outputs, listed, identity));
}

async function recorded<View extends { damaged?: string[] | undefined }>(
  { damage }: Deps,
  job: JobRecord,
  view: View,
): Promise<View> {
  if (view.damaged !== undefined) {
    const error = `stored parts of the job are damaged: ${view.damaged.join(", ")}`;
    await damage.record({ job, parts: view.damaged, error });
  }
  return view;
}
