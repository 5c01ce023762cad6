import { codeOf, WritError } from "../../../core/errors.ts";
import type { NewEvent } from "../../../core/events.ts";
import { isEnded, type NewJob } from "../../../core/jobs/job.ts";
import { type FiringPlan, planFiring } from "../../../core/schedules/plan-firing.ts";
import type { Schedule } from "../../../core/schedules/schedule.ts";
import type { Firing, FiringOutcome, StandingOrder } from "../../../store/order-store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import { isOrderSealed } from "../orders/seal-order.ts";
import { OwnerRights } from "./owner-rights.ts";
import { refusedBy } from "./refused-by.ts";
import { makeJobs } from "./schedule-jobs.ts";
import { readSchedule, scheduleEvent, scheduleOrder, timingOf } from "./schedule-record.ts";

/** As many schedules share a transaction. */
const ordersPerTurn = 100;
/** A schedule whose owner lost a right, or whose tenant is over a quota, is tried again after this. */
const blockedMs = 15_000;
/** So many occurrences in a row without a job are worth an alert. */
const skippedAlert = 10;

type FiredTurn = {
  /** Schedules that were looked at. */
  looked: number;
  /** When the next schedule is due; null if none is. */
  nextAt: number | null;
};

/**
 * Makes the jobs of the schedules that are due. Any hub may do it, at the same time as others: an order moves only from the revision that
 * was read, together with its jobs. Why: ADR 0130.
 */
export async function fireDueSchedules(deps: HubDeps): Promise<FiredTurn> {
  const nowMs = deps.clock.nowMs();
  const { orders, nextAt } = await deps.store.listDueOrders({
    kind: "schedule",
    nowMs,
    limit: ordersPerTurn,
  });
  if (orders.length === 0) return { looked: 0, nextAt };
  const rights = new OwnerRights(deps);
  const planned: Planned[] = [];
  for (const order of orders) {
    const one = await planOrder(deps, { order, rights, nowMs });
    if (one !== null) planned.push(one);
  }
  await deps.failpoint("schedules.beforeCommit");
  const outcomes = await deps.store.fireOrders({ firings: planned.map(({ firing }) => firing) });
  await deps.failpoint("schedules.afterCommit");
  for (const [index, one] of planned.entries()) await finish(deps, one, outcomes[index]!);
  return { looked: orders.length, nextAt };
}

/** Fires one schedule that a person has just given something to do. */
export async function fireSchedule(
  deps: HubDeps,
  order: StandingOrder,
  schedule: Schedule,
): Promise<FiringOutcome> {
  const nowMs = deps.clock.nowMs();
  const rights = new OwnerRights(deps);
  const one = (await planOrder(deps, { order, schedule, rights, nowMs }))!;
  if (one.blocked !== null) throw new WritError(one.blocked.code, one.blocked.reason);
  const [outcome] = await deps.store.fireOrders({ firings: [one.firing] });
  if (outcome!.kind === "fired") await finish(deps, one, outcome!);
  return outcome!;
}

type Planned = {
  order: StandingOrder;
  schedule: Schedule;
  plan: FiringPlan;
  firing: Firing;
  blocked: { code: "PERMISSION_DENIED" | "RATE_LIMITED"; reason: string } | null;
};
type Planning = { order: StandingOrder; schedule?: Schedule; rights: OwnerRights; nowMs: number };

async function planOrder(deps: HubDeps, planning: Planning): Promise<Planned | null> {
  const { order, rights, nowMs } = planning;
  if (!isOrderSealed(deps.keys.macKey, order)) {
    await setAside(deps, order, nowMs);
    return null;
  }
  const schedule = planning.schedule ?? readSchedule(order);
  const isBusy = await isLastActive(deps, schedule);
  const plan = planNow(schedule, { nowMs, isBusy });
  if (typeof plan === "string") {
    const empty = planNothing(schedule, nowMs);
    return block(deps, { order, schedule, plan: empty, nowMs }, { code: "PERMISSION_DENIED", reason: plan });
  }
  const refusal =
    plan.fire.length === 0
      ? null
      : await refusalOf(deps, { order, schedule, rights, count: plan.fire.length });
  if (refusal !== null) return block(deps, { order, schedule, plan, nowMs }, refusal);
  try {
    const jobs = makeJobs(deps, order, { spec: schedule.spec, entries: plan.fire, nowMs });
    return await firingOf(deps, { order, schedule, plan, nowMs }, jobs);
  } catch (error) {
    const reason = error instanceof Error ? error.message : codeOf(error);
    return block(deps, { order, schedule, plan, nowMs }, { code: "PERMISSION_DENIED", reason });
  }
}

/** The plan; or why there is none, which is a time zone that this hub does not know. */
function planNow(schedule: Schedule, now: { nowMs: number; isBusy: boolean }): FiringPlan | string {
  try {
    const timing = timingOf(schedule.spec, schedule.anchorMs);
    return planFiring(schedule, { timing, ...now });
  } catch (error) {
    if (error instanceof WritError) return error.message;
    throw error;
  }
}

function planNothing(schedule: Schedule, nowMs: number): FiringPlan {
  return {
    fire: [],
    skipped: [],
    missed: 0,
    cancelsLast: false,
    after: schedule,
    nextAtMs: nowMs + blockedMs,
  };
}

async function isLastActive({ store }: HubDeps, { last }: Schedule): Promise<boolean> {
  if (last === null) return false;
  const stored = await store.getJob({ jobId: last.job_id });
  return stored !== null && !isEnded(stored.job.status);
}

async function refusalOf(
  deps: HubDeps,
  {
    order,
    schedule,
    rights,
    count,
  }: { order: StandingOrder; schedule: Schedule; rights: OwnerRights; count: number },
): Promise<Planned["blocked"]> {
  const { tenantId, userId } = order;
  if (!(await rights.has({ tenantId, userId, putWith: schedule.putWith })))
    return {
      code: "PERMISSION_DENIED",
      reason: `user ${userId} has no valid token or certificate of tenant ${tenantId}`,
    };
  const { submits_per_sec: perSecond } = await deps.quotas.get(tenantId);
  if (perSecond === undefined) return null;
  const waitMs = deps.limits.take(`submits_per_sec ${tenantId}`, perSecond, count);
  return waitMs === 0
    ? null
    : { code: "RATE_LIMITED", reason: `the tenant may submit ${perSecond} jobs a second` };
}

type Given = { order: StandingOrder; schedule: Schedule; plan: FiringPlan; nowMs: number };

async function firingOf(deps: HubDeps, given: Given, jobs: NewJob[]): Promise<Planned> {
  const { order, schedule, plan, nowMs } = given;
  const newest = plan.fire.length - 1;
  const last =
    newest < 0
      ? plan.after.last
      : { job_id: jobs[newest]!.id, occurrence: plan.fire[newest]!.name, at: plan.fire[newest]!.at };
  const next = { schedule: { ...plan.after, last }, nextAtMs: plan.nextAtMs };
  const fired = plan.fire.map(({ name, at }, index) => ({
    occurrence: name,
    at,
    outcome: "fired" as const,
    job: jobs[index]!,
  }));
  const { max_pending } = await deps.quotas.get(order.tenantId);
  const isAlone = plan.fire.length > 0 && schedule.spec.overlap !== "allow";
  const firing: Firing = {
    order: scheduleOrder(deps.keys.macKey, order, next),
    revisionBefore: order.revision,
    events: [...firedEvents(given, jobs), ...skippedEvents(given)],
    occurrences: [...fired, ...skippedRows(plan)],
    endedJobId: isAlone ? (schedule.last?.job_id ?? null) : null,
    maxPending: max_pending ?? null,
    nowMs,
    origin: null,
  };
  return { order, schedule, plan, firing, blocked: null };
}

function skippedRows({ skipped }: FiringPlan): Firing["occurrences"] {
  return skipped.map(({ name, at }) => ({ occurrence: name, at, outcome: "skipped", job: null }));
}

/** Nothing is lost: what was to be fired waits, and is tried again until its window has passed. */
function block(
  deps: HubDeps,
  given: Given,
  why: { code: "PERMISSION_DENIED" | "RATE_LIMITED"; reason: string },
): Planned {
  const { order, schedule, plan, nowMs } = given;
  const { reason } = why;
  const isNew = schedule.blocked?.reason !== reason;
  const blocked = { since: schedule.blocked?.since ?? nowMs, reason };
  const after = {
    ...plan.after,
    waiting: [...plan.fire, ...plan.after.waiting],
    runs: schedule.runs,
    blocked,
  };
  const event = scheduleEvent(order, { event: "SCHEDULE_BLOCKED", details: { reason }, nowMs });
  const nextAtMs = Math.min(nowMs + blockedMs, plan.nextAtMs ?? Number.POSITIVE_INFINITY);
  const firing: Firing = {
    order: scheduleOrder(deps.keys.macKey, order, {
      schedule: after,
      nextAtMs: Math.max(nextAtMs, nowMs + 1_000),
    }),
    revisionBefore: order.revision,
    events: [...(isNew ? [event] : []), ...skippedEvents({ ...given, plan: { ...plan, after } })],
    occurrences: skippedRows(plan),
    endedJobId: null,
    maxPending: null,
    nowMs,
    origin: null,
  };
  return { order, schedule, plan, firing, blocked: why };
}

function firedEvents({ order, plan, nowMs }: Given, jobs: NewJob[]): NewEvent[] {
  return plan.fire.map(({ name, at, by }, index) =>
    scheduleEvent(order, {
      event: "SCHEDULE_FIRED",
      details: {
        occurrence: name,
        scheduled_for: at,
        job_id: jobs[index]!.id,
        by,
        ...(plan.missed > 0 ? { missed: plan.missed } : {}),
      },
      nowMs,
    }),
  );
}

function skippedEvents({ order, schedule, plan, nowMs }: Given): NewEvent[] {
  const happened = (event: NewEvent["event"], details: object): NewEvent =>
    scheduleEvent(order, { event, details: { ...details }, nowMs });
  const events = plan.skipped.map(({ name, at, reason }) =>
    happened("SCHEDULE_SKIPPED", { occurrence: name, scheduled_for: at, reason }),
  );
  if (plan.missed > 0 && plan.fire.length === 0)
    events.push(happened("SCHEDULE_SKIPPED", { missed: plan.missed, reason: "catch_up" }));
  const isMany = plan.after.skippedInRow >= skippedAlert && schedule.skippedInRow < skippedAlert;
  if (isMany) {
    const reason = `${skippedAlert} occurrences in a row were skipped, because an earlier job has not ended`;
    events.push(happened("SCHEDULE_BLOCKED", { reason }));
  }
  return events;
}

/** What follows a firing. A refusal by a quota is known only now: the schedule waits, and says why. */
async function finish(deps: HubDeps, one: Planned, outcome: FiringOutcome): Promise<void> {
  const { order, schedule, plan } = one;
  if (outcome.kind === "noted") return leaveOut(deps, one, new Set(outcome.occurrences));
  if (outcome.kind === "fired") {
    deps.metrics.submitted.inc(outcome.jobs.length);
    if (plan.cancelsLast) await cancelLast(deps, schedule);
  }
  const reason = refusedBy(outcome);
  if (reason === null) return;
  const given = { order, schedule, plan, nowMs: deps.clock.nowMs() };
  const { firing } = block(deps, given, { code: "RATE_LIMITED", reason });
  await deps.store.fireOrders({ firings: [firing] });
}

/** After a reset, or in a backfill: what has made its job already makes no second one, and the rest is fired. */
async function leaveOut(deps: HubDeps, one: Planned, noted: ReadonlySet<string>): Promise<void> {
  const { order, schedule, plan } = one;
  const isLeft = ({ name }: { name: string }): boolean => !noted.has(name);
  const [fire, skipped] = [plan.fire.filter(isLeft), plan.skipped.filter(isLeft)];
  const nowMs = deps.clock.nowMs();
  const jobs = makeJobs(deps, order, { spec: schedule.spec, entries: fire, nowMs });
  const left = { ...plan, fire, skipped, nextAtMs: plan.nextAtMs };
  const { firing } = await firingOf(deps, { order, schedule, plan: left, nowMs }, jobs);
  const [outcome] = await deps.store.fireOrders({ firings: [firing] });
  if (outcome!.kind === "fired") deps.metrics.submitted.inc(outcome!.jobs.length);
}

async function cancelLast(deps: HubDeps, { last }: Schedule): Promise<void> {
  if (last === null) return;
  const changes = [{ jobId: last.job_id, change: { act: "cancel" as const } }];
  await deps.store.changeJobs({ changes, rules: rulesNow(deps), origin: null });
}

/** A row that something else than a hub has changed is never used. It is reported once, and looked at no more. */
async function setAside({ store, logger }: HubDeps, order: StandingOrder, nowMs: number): Promise<void> {
  const error = "the row of a schedule does not match its seal; the schedule makes no jobs";
  const details = { violation_type: "INVALID_SEAL", error };
  const event = scheduleEvent(order, { event: "SECURITY_VIOLATION", details, nowMs });
  const aside = { order: { ...order, nextAt: null }, revisionBefore: order.revision };
  await store.putOrder({ ...aside, events: [event], most: Number.MAX_SAFE_INTEGER });
  logger.error({ schedule: order.name, tenant: order.tenantId }, error);
}
