import type { Identity } from "../../core/identity.ts";
import type { ListedJob, ShownJobs } from "../../store/jobs/job-list.ts";
import { storedSummary } from "./job-summary.ts";

/**
 * Jobs of a list as JSON. What is damaged, or still writes output, is left to those who can record it or look. Texts of
 * neighbours are one text: to pass on one that is long costs less than many that are short. Why: ADR 0070.
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
