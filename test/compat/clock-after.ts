import { type Clock, systemClock } from "../../src/runtime/clock/clock.ts";
import type { Made } from "./old-home.ts";

/** The calendar of a minute after it was made: by today's, jobs that ended in it would be old enough to be removed. */
export function clockAfter({ shown }: Made): Clock {
  const startedMs = systemClock.nowMs();
  const madeMs = Math.max(...Object.values(shown).map(({ created_at }) => created_at));
  return { ...systemClock, nowMs: () => madeMs + 60_000 + systemClock.nowMs() - startedMs };
}
