import type { z } from "zod";
import type { scheduleBody } from "../../../contract/shapes/schedule-shapes.ts";
import type { JobSubmission } from "../../../contract/shapes/submit-shapes.ts";
import { invalidArgument, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { schedulesAllowed } from "../../../core/jobs/quota.ts";
import { nextOccurrences, type Timing } from "../../../core/schedules/occurrences.ts";
import { nextDue } from "../../../core/schedules/plan-firing.ts";
import type { Schedule, ScheduleSpec } from "../../../core/schedules/schedule.ts";
import type { StandingOrder } from "../../../store/order-store.ts";
import type { HubDeps } from "../../deps.ts";
import { requestText } from "../jobs/build-document.ts";
import { checkCommand } from "../jobs/command-policy.ts";
import { findOrder, type OrderCall, tenantOf } from "../orders/find-order.ts";
import { isOrderSealed } from "../orders/seal-order.ts";
import { makeJobs } from "./schedule-jobs.ts";
import { readSchedule, scheduleEvent, scheduleOrder, timingOf } from "./schedule-record.ts";

type Body = z.infer<typeof scheduleBody>;
type PutCall = OrderCall & { body: Body; origin: Origin };

/** Creates or changes a schedule. What is the same as before changes nothing; a new timing begins now. Why: ADR 0130. */
export async function putSchedule(
  deps: HubDeps,
  call: PutCall,
): Promise<{ order: StandingOrder; isNew: boolean }> {
  const { identity, body, origin } = call;
  const nowMs = deps.clock.nowMs();
  const tenantId = tenantOf(call);
  const before = await findOrder(deps, { ...call, kind: "schedule", to: "change" });
  const spec = specOf(body);
  checkTiming(spec, nowMs);
  const known = before !== null && isOrderSealed(deps.keys.macKey, before) ? readSchedule(before) : null;
  const userId = before?.userId ?? identity.userId;
  const whose = { tenantId, userId, name: call.name, revision: before?.revision ?? 0 };
  await checkJob(deps, { spec, whose, body });
  const isPaused = body.paused ?? known?.isPaused ?? false;
  if (known !== null && known.isPaused === isPaused && JSON.stringify(known.spec) === JSON.stringify(spec))
    return { order: before!, isNew: false };
  const id = before?.id ?? deps.ids.recordId();
  const made = { id, spec, isPaused, putWith: identity.tokenId };
  const schedule = known === null ? newSchedule(made, nowMs) : changed(known, made, nowMs);
  const nextAtMs = nextDue(schedule, timingOf(spec, schedule.anchorMs))?.dueMs ?? null;
  const order = scheduleOrder(deps.keys.macKey, whose, { schedule, nextAtMs });
  const details = {
    act: before === null ? "created" : "changed",
    cron: spec.cron,
    every_sec: spec.every_sec,
  };
  const event = scheduleEvent(order, { event: "SCHEDULE_CHANGED", details, nowMs, origin });
  const most = schedulesAllowed(await deps.quotas.get(tenantId));
  const revisionBefore = before?.revision ?? null;
  const outcome = await deps.store.putOrder({ order, revisionBefore, events: [event], most });
  if (outcome === "too_many")
    throw new WritError("QUOTA_EXCEEDED", `the tenant has ${most} schedules, which is all that it may have`);
  if (outcome === "moved") return putSchedule(deps, call);
  return { order, isNew: before === null };
}

function specOf(body: Body): ScheduleSpec {
  return {
    job: requestText(body.job as JobSubmission),
    cron: body.cron === undefined ? null : body.cron.trim().replaceAll(/\s+/g, " "),
    every_sec: body.every_sec ?? null,
    time_zone: body.time_zone ?? "UTC",
    start_at: body.start_at ?? null,
    end_at: body.end_at ?? null,
    max_runs: body.max_runs ?? null,
    jitter_sec: body.jitter_sec ?? 0,
    catch_up: body.catch_up ?? "latest",
    catch_up_sec: body.catch_up_sec ?? 86_400,
    overlap: body.overlap ?? "skip",
  };
}

/** Intervals of an expression differ; this many are compared. */
const intervalsSeen = 20;

function checkTiming(spec: ScheduleSpec, nowMs: number): void {
  const timing = timingOf(spec, nowMs);
  if (spec.jitter_sec === 0) return;
  const shortest = shortestInterval(timing, nowMs);
  if (shortest !== null && spec.jitter_sec * 2_000 > shortest)
    throw invalidArgument({
      path: "jitter_sec",
      message: `must be at most half of the shortest interval, which is ${shortest / 1_000} s; found ${spec.jitter_sec}`,
    });
}

function shortestInterval(timing: Timing, nowMs: number): number | null {
  const times = nextOccurrences(timing, { atMs: nowMs }, intervalsSeen).map(({ atMs }) => atMs);
  const intervals = times.slice(1).map((atMs, index) => atMs - times[index]!);
  return intervals.length === 0 ? null : Math.min(...intervals);
}

type Checked = { spec: ScheduleSpec; whose: { tenantId: string; userId: string; name: string }; body: Body };

/** What every firing would refuse is refused now. */
async function checkJob(deps: HubDeps, { spec, whose, body }: Checked): Promise<void> {
  const submission = body.job as JobSubmission;
  checkCommand(deps.settings.commands, { userId: whose.userId, submission });
  const nowMs = deps.clock.nowMs();
  makeJobs(deps, whose, { spec, entries: [{ name: "example", at: nowMs, by: "run", until: nowMs }], nowMs });
}

type Made = Pick<Schedule, "id" | "spec" | "isPaused" | "putWith">;

function newSchedule(made: Made, nowMs: number): Schedule {
  return {
    ...made,
    ...beginning(made.spec, nowMs),
    waiting: [],
    runs: 0,
    skippedInRow: 0,
    last: null,
    blocked: null,
    createdAt: nowMs,
    changedAt: nowMs,
  };
}

/** From here on, occurrences count. */
function beginning({ start_at, cron }: ScheduleSpec, nowMs: number) {
  const anchorMs = start_at ?? nowMs;
  return { anchorMs, cursorMs: cron === null ? nowMs : Math.max(nowMs, anchorMs - 1), cursorLocalMs: null };
}

const timingFields = ["cron", "every_sec", "time_zone", "start_at"] as const;

function changed(before: Schedule, made: Made, nowMs: number): Schedule {
  const isNewTiming = timingFields.some((field) => before.spec[field] !== made.spec[field]);
  const isResumed = before.isPaused && !made.isPaused;
  const schedule: Schedule = { ...before, ...made, blocked: null, changedAt: nowMs };
  if (isNewTiming) return { ...schedule, ...beginning(made.spec, nowMs), waiting: [] };
  // What passed during a pause was not missed.
  return isResumed ? { ...schedule, cursorMs: Math.max(before.cursorMs, nowMs) } : schedule;
}
