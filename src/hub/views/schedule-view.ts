import type { z } from "zod";
import type { scheduleView as shape } from "../../contract/shapes/schedule-shapes.ts";
import type { Identity } from "../../core/identity.ts";
import { nextOccurrences } from "../../core/schedules/occurrences.ts";
import { nextDue } from "../../core/schedules/plan-firing.ts";
import type { Schedule } from "../../core/schedules/schedule.ts";
import type { NotedOccurrence, StandingOrder } from "../../store/order-store.ts";
import type { HubDeps } from "../deps.ts";
import { isOrderSealed } from "../use-cases/orders/seal-order.ts";
import { readSchedule, timingOf } from "../use-cases/schedules/schedule-record.ts";

import { templateSeenBy } from "./template-view.ts";

export type ScheduleView = z.input<typeof shape>;

const shownTimes = 5;

/** A schedule as its readers see it. Of a row that does not match its seal, only the name is shown. */
export function scheduleView(
  { keys }: Pick<HubDeps, "keys">,
  order: StandingOrder,
  { identity, past }: { identity: Identity; past?: NotedOccurrence[] },
): ScheduleView {
  if (!isOrderSealed(keys.macKey, order)) return damagedView(order);
  const schedule = readSchedule(order);
  const { spec, isPaused, waiting, runs, last, blocked, createdAt, changedAt } = schedule;
  const { job: _, ...fields } = spec;
  return {
    ...whose(order),
    ...fields,
    state: stateOf(schedule, order),
    job: templateSeenBy(identity, order, spec.job),
    paused: isPaused,
    next: nextTimes(schedule),
    waiting: waiting.length,
    runs,
    last,
    blocked,
    ...(past === undefined ? {} : { past: past.map(occurrenceView) }),
    created_at: createdAt,
    changed_at: changedAt,
  };
}

function whose({ name, tenantId, userId }: StandingOrder) {
  return { name, tenant_id: tenantId, user_id: userId };
}

function stateOf({ isPaused, blocked }: Schedule, { nextAt }: StandingOrder): ScheduleView["state"] {
  if (blocked !== null) return "blocked";
  if (isPaused) return "paused";
  return nextAt === null ? "ended" : "active";
}

function nextTimes(schedule: Schedule): number[] {
  const { spec, anchorMs, cursorMs: atMs, cursorLocalMs: localMs, runs } = schedule;
  try {
    const timing = timingOf(spec, anchorMs);
    if (nextDue(schedule, timing) === null) return [];
    const count = Math.min(shownTimes, (spec.max_runs ?? Number.POSITIVE_INFINITY) - runs);
    const times = nextOccurrences(timing, { atMs, localMs }, count).map((next) => next.atMs);
    return times.filter((time) => time <= (spec.end_at ?? Number.POSITIVE_INFINITY));
  } catch {
    // Its time zone is not known to this hub: `blocked` says so once it is due.
    return [];
  }
}

function occurrenceView({ occurrence, at, outcome, jobId, ts }: NotedOccurrence) {
  return { occurrence, at, outcome, job_id: jobId, ts };
}

function damagedView(order: StandingOrder): ScheduleView {
  return {
    ...whose(order),
    state: "damaged",
    job: null,
    cron: null,
    every_sec: null,
    time_zone: "UTC",
    start_at: null,
    end_at: null,
    max_runs: null,
    jitter_sec: 0,
    catch_up: "latest",
    catch_up_sec: 0,
    overlap: "skip",
    paused: false,
    next: [],
    waiting: 0,
    runs: 0,
    last: null,
    blocked: null,
    created_at: 0,
    changed_at: 0,
  };
}
