import type { Effects } from "../../../core/jobs/effects.ts";
import type { JobState } from "../../../core/jobs/job.ts";
import { noteEffects } from "../../jobs/note-effects.ts";
import type { Context } from "../context.ts";
import { appendEvent } from "../log/event-log.ts";

/**
 * Carries out what follows from a change beside its row: events, counters, and notices after the commit. Why: ADR 0022.
 */
export function applyEffects(context: Context, effects: Effects): void {
  const { events, counts } = effects;
  for (const event of events) appendEvent(context, event);
  if (counts !== null) {
    const { from, to, worker } = counts;
    if (from !== null) countJob(context, effects.after, from, -1);
    if (to !== null) countJob(context, effects.after, to, 1);
    if (worker !== null) context.workers.add(worker.id, worker);
  }
  noteEffects(context, effects);
}

/** Counts a job that has come into a state, or left it. */
export function countJob(
  { tallies, owners }: Pick<Context, "tallies" | "owners">,
  owner: { tenantId: string; userId: string },
  state: JobState,
  difference: 1 | -1,
): void {
  tallies.add(`jobs.${state}`, difference);
  owners.add(owner, state, difference);
}
