import type { Effects } from "../../core/effects.ts";
import { noteEffects } from "../note-effects.ts";
import type { Context } from "./context.ts";
import { appendEvent } from "./event-log.ts";

/** Carries out what follows from a change beside its row: events, counters, and notices after the commit. */
export function applyEffects(context: Context, effects: Effects): void {
  const { events, counts } = effects;
  for (const event of events) appendEvent(context, event);
  if (counts !== null) {
    const { from, to, worker } = counts;
    if (from !== null) context.tallies.add(`jobs.${from}`, -1);
    if (to !== null) context.tallies.add(`jobs.${to}`, 1);
    if (worker !== null) context.workers.add(worker.id, worker);
  }
  noteEffects(context, effects);
}
