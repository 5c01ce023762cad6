import { type JobStatus, statusOf } from "../core/jobs/job-status.ts";
import { commandOf } from "./kinds.ts";
import type { JobSummary, JobView } from "./shapes/view-shapes.ts";

/** The status of a job that is shown. A list has the first words of the command; one of an older hub has all. */
export function statusOfView(view: JobView | JobSummary): JobStatus {
  const command = "command" in view && view.command !== undefined ? view.command : commandOfRun(view);
  return statusOf(view, command ?? []);
}

function commandOfRun({ run }: JobView | JobSummary): readonly string[] | null {
  return run === null ? null : (commandOf(run) ?? null);
}
