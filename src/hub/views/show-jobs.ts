import type { Identity } from "../../core/identity.ts";
import type { ListedJob, ShownJobs } from "../../store/jobs/job-list.ts";
import { storedSummary } from "./job-summary.ts";

/**
 * Jobs of a list as JSON. Jobs that are damaged, or still write output, are left to the caller, which can record the
 * damage or read the sizes. Texts of neighbours are one text: passing on one long text costs less than many short ones.
 * Why: ADR 0070.
 */
export function showJobs(jobs: readonly ListedJob[], caller: Identity): ShownJobs {
  const shown: ShownJobs = [];
  let texts: string[] = [];
  const endTexts = (): void => {
    if (texts.length > 0) shown.push(texts.join(","));
    texts = [];
  };
  for (const listed of jobs) {
    const summary = storedSummary(listed, caller);
    if (summary !== null && summary.damaged === undefined) texts.push(JSON.stringify(summary));
    else {
      endTexts();
      shown.push(listed);
    }
  }
  endTexts();
  return shown;
}
