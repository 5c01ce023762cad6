import type { JobState } from "../../../core/jobs/job.ts";
import type { Context } from "../context.ts";

/** Counts a job that has come into a state, or left it. Why: ADR 0022. */
export function countJob(
  { tallies, owners }: Pick<Context, "tallies" | "owners">,
  owner: { tenantId: string; userId: string },
  state: JobState,
  difference: 1 | -1,
): void {
  tallies.add(`jobs.${state}`, difference);
  owners.add(owner, state, difference);
}
