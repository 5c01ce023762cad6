import { type Clock, systemClock } from "../../src/runtime/clock/clock.ts";

const dayMs = 86_400_000;
const startedMs = Date.now();
const noonMs = Math.floor(startedMs / dayMs) * dayMs + dayMs / 2;

/**
 * The calendar of a hub so many days from today, whose day is at noon when the tests begin. By the clock on the wall
 * they could run into midnight, or past the hour of a daily round, and find themselves in another day than they
 * counted on. Everything else about time is as it is.
 */
export function noonClock(days = 0): Clock {
  return { ...systemClock, nowMs: () => systemClock.nowMs() - startedMs + noonMs + days * dayMs };
}
