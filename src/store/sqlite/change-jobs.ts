import type { Origin } from "../../core/events.ts";
import type { ChangeRules } from "../../core/outcome.ts";
import type { ChangeAnswer, JobChange } from "../store.ts";
import type { Context } from "./context.ts";
import { loadJob } from "./job-row.ts";
import { writeJob } from "./write-job.ts";

type ChangeInput = { changes: JobChange[]; rules: ChangeRules; origin: Origin | null };

/** Applies each change alone; the answers are in the order of the changes. */
export function changeJobs(context: Context, { changes, rules, origin }: ChangeInput): ChangeAnswer[] {
  return changes.map(({ jobId, change }) => {
    const job = context.held.get(jobId) ?? loadJob(context, jobId);
    return job === null ? { kind: "unknown" } : writeJob(context, job, change, { rules, origin });
  });
}
