import { invalidArgument, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { nextOccurrence, type Occurrence, type Place } from "../../../core/schedules/occurrences.ts";
import { nextDue } from "../../../core/schedules/plan-firing.ts";
import type { Schedule, Waiting } from "../../../core/schedules/schedule.ts";
import type { StandingOrder } from "../../../store/order-store.ts";
import type { HubDeps } from "../../deps.ts";
import { findOrder, findSealedOrder, type OrderCall } from "../orders/find-order.ts";
import { fireSchedule } from "./fire-schedules.ts";
import { readSchedule, scheduleEvent, scheduleOrder, timingOf } from "./schedule-record.ts";

type Call = OrderCall & { origin: Origin };

/** Another change came in between; the call is done again this often. */
const triesMax = 5;
const dayMs = 86_400_000;
const backfillMax = 1_000;
/** As many are kept. */
const notedMax = 10_000;

/** Pauses a schedule, or ends the pause. What would have been due meanwhile is not caught up. */
export function setSchedulePaused(deps: HubDeps, call: Call & { isPaused: boolean }): Promise<StandingOrder> {
  return change(deps, call, (schedule, nowMs) => {
    if (schedule.isPaused === call.isPaused) return null;
    const cursorMs = call.isPaused ? schedule.cursorMs : Math.max(schedule.cursorMs, nowMs);
    const act = call.isPaused ? "paused" : "resumed";
    return {
      schedule: { ...schedule, isPaused: call.isPaused, cursorMs, changedAt: nowMs },
      details: { act },
    };
  });
}

/** Lets the occurrences between two times that have made no job make one. Returns how many wait for that now. */
export async function backfillSchedule(
  deps: HubDeps,
  call: Call & { from: number; to: number },
): Promise<number> {
  const { from, to } = call;
  if (to < from) throw invalidArgument({ path: "to", message: "must not be before from" });
  if (to > deps.clock.nowMs()) throw invalidArgument({ path: "to", message: "must not be in the future" });
  const { id } = await findSealedOrder(deps, { ...call, kind: "schedule", to: "change" });
  const noted = await deps.store.listOccurrences({ orderId: id, limit: notedMax });
  const fired = new Set(
    noted.filter(({ outcome }) => outcome === "fired").map(({ occurrence }) => occurrence),
  );
  let added = 0;
  await change(deps, call, (schedule, nowMs) => {
    const waits = new Set(schedule.waiting.map(({ name }) => name));
    const entries = occurrencesIn(schedule, { from, to })
      .filter(({ name }) => !waits.has(name) && !fired.has(name))
      .map(({ name, atMs }): Waiting => ({ name, at: atMs, by: "backfill", until: nowMs + dayMs }));
    added = entries.length;
    if (entries.length === 0) return null;
    const details = { act: "backfill", from, to, occurrences: entries.length };
    return { schedule: { ...schedule, waiting: [...schedule.waiting, ...entries] }, details };
  });
  return added;
}

function occurrencesIn(schedule: Schedule, { from, to }: { from: number; to: number }): Occurrence[] {
  const timing = timingOf(schedule.spec, schedule.anchorMs);
  const found: Occurrence[] = [];
  let place: Place = { atMs: from - 1 };
  for (;;) {
    const next = nextOccurrence(timing, place);
    if (next === null || next.atMs > to) return found;
    if (found.length === backfillMax)
      throw invalidArgument({
        path: "to",
        message: `there are more than ${backfillMax} occurrences from then to there; ask for a shorter time`,
      });
    found.push(next);
    place = next;
  }
}

/** Makes a job now, beside those of the clock; returns its id. */
export async function runSchedule(deps: HubDeps, call: Call): Promise<string> {
  for (let tries = 0; tries < triesMax; tries++) {
    const order = await findSealedOrder(deps, { ...call, kind: "schedule", to: "change" });
    const schedule = readSchedule(order);
    const nowMs = deps.clock.nowMs();
    const name = `${new Date(nowMs).toISOString()} by ${call.identity.userId} ${deps.ids.recordId()}`;
    const entry: Waiting = { name, at: nowMs, by: "run", until: nowMs + dayMs };
    const outcome = await fireSchedule(deps, order, { ...schedule, waiting: [entry, ...schedule.waiting] });
    if (outcome.kind === "moved") continue;
    const jobId = outcome.kind === "fired" ? outcome.jobs[0] : undefined;
    if (jobId !== undefined) return jobId;
    if (outcome.kind === "over_quota" || outcome.kind === "too_many_queues")
      throw new WritError("QUOTA_EXCEEDED", "the tenant may have no more pending jobs now", {
        retry_after_sec: 5,
      });
    if (outcome.kind === "lane_differs")
      throw new WritError(
        "LANE_DIFFERS",
        `lanes: another user's job has made lane ${outcome.lane.name} with other numbers`,
      );
    throw new WritError(
      "STATE_CONFLICT",
      `job ${schedule.last?.job_id} of the schedule has not ended; wait for it, or set overlap to allow`,
      { job_id: schedule.last?.job_id },
    );
  }
  throw changedMeanwhile(call);
}

export async function removeSchedule(deps: HubDeps, call: Call): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    const order = await findOrder(deps, { ...call, kind: "schedule", to: "change" });
    if (order === null) throw new WritError("NOT_FOUND", `there is no schedule ${call.name}`);
    const { tenantId, name, revision } = order;
    const happened = { details: { act: "removed" }, nowMs: deps.clock.nowMs(), origin: call.origin };
    const event = scheduleEvent(order, { event: "SCHEDULE_CHANGED", ...happened });
    if (await deps.store.removeOrder({ kind: "schedule", tenantId, name, revision, events: [event] })) return;
  }
  throw changedMeanwhile(call);
}

type Changed = { schedule: Schedule; details: Record<string, unknown> };

async function change(
  deps: HubDeps,
  call: Call,
  make: (schedule: Schedule, nowMs: number) => Changed | null,
): Promise<StandingOrder> {
  for (let tries = 0; tries < triesMax; tries++) {
    const before = await findSealedOrder(deps, { ...call, kind: "schedule", to: "change" });
    const nowMs = deps.clock.nowMs();
    const made = make(readSchedule(before), nowMs);
    if (made === null) return before;
    const { schedule, details } = made;
    const due = nextDue(schedule, timingOf(schedule.spec, schedule.anchorMs))?.dueMs ?? null;
    const nextAtMs = schedule.waiting.length > 0 ? nowMs : due;
    const order = scheduleOrder(deps.keys.macKey, before, { schedule, nextAtMs });
    const event = scheduleEvent(order, { event: "SCHEDULE_CHANGED", details, nowMs, origin: call.origin });
    const put = { order, revisionBefore: before.revision, events: [event], most: Number.MAX_SAFE_INTEGER };
    if ((await deps.store.putOrder(put)) === "kept") return order;
  }
  throw changedMeanwhile(call);
}

function changedMeanwhile({ name }: Call): WritError {
  return new WritError(
    "STATE_CONFLICT",
    `the schedule ${name} was changed again and again meanwhile; try again`,
  );
}
