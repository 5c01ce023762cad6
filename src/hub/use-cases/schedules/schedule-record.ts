import { timingSafeEqual } from "node:crypto";
import type { NewEvent } from "../../../core/events.ts";
import { parseCron } from "../../../core/schedules/cron.ts";
import type { Timing } from "../../../core/schedules/occurrences.ts";
import type { Schedule, ScheduleSpec } from "../../../core/schedules/schedule.ts";
import { macOfText } from "../../../signing/mac.ts";
import type { StandingOrder } from "../../../store/order-store.ts";
import { timeZone } from "../../schedules/time-zone.ts";

type Sealed = Omit<StandingOrder, "seal">;

const purpose = "writ standing order seal 1\n";

/** Everything of the row is sealed: what an order is, whose it is, and how far it has come. Why: ADR 0130. */
function sealOrder(macKey: Buffer, order: Sealed): StandingOrder {
  return { ...order, seal: sealOf(macKey, order) };
}

export function isOrderSealed(macKey: Buffer, order: StandingOrder): boolean {
  const [found, made] = [Buffer.from(order.seal), Buffer.from(sealOf(macKey, order))];
  return found.length === made.length && timingSafeEqual(found, made);
}

function sealOf(macKey: Buffer, order: Sealed): string {
  const { kind, tenantId, name, id, userId, revision, nextAt, cursor, state } = order;
  const text = JSON.stringify([kind, tenantId, name, id, userId, revision, nextAt, cursor, state]);
  return macOfText(macKey, purpose, text).toString("base64url");
}

/** The row of a schedule that has become this, and is due then. */
export function scheduleOrder(
  macKey: Buffer,
  before: Pick<StandingOrder, "tenantId" | "name" | "userId" | "revision">,
  { schedule, nextAtMs }: { schedule: Schedule; nextAtMs: number | null },
): StandingOrder {
  const { tenantId, name, userId, revision } = before;
  const { id, cursorMs, ...state } = schedule;
  return sealOrder(macKey, {
    kind: "schedule",
    tenantId,
    name,
    id,
    userId,
    revision: revision + 1,
    nextAt: nextAtMs,
    cursor: cursorMs,
    state: JSON.stringify(state),
  });
}

/** What a sealed row says. The caller has checked the seal. */
export function readSchedule({ id, cursor, state }: StandingOrder): Schedule {
  return { ...(JSON.parse(state) as Omit<Schedule, "id" | "cursorMs">), id, cursorMs: cursor };
}

/** Throws INVALID_ARGUMENT if this hub's zone data do not know the place. */
export function timingOf(spec: ScheduleSpec, anchorMs: number): Timing {
  if (spec.cron === null) return { kind: "every", everyMs: spec.every_sec! * 1_000, anchorMs };
  return { kind: "cron", cron: parseCron(spec.cron), zone: timeZone(spec.time_zone) };
}

type Happening = Pick<NewEvent, "event" | "details"> & { nowMs: number; origin?: NewEvent["origin"] };

export function scheduleEvent(
  { tenantId, userId, name }: Pick<StandingOrder, "tenantId" | "userId" | "name">,
  { event, details, nowMs, origin = null }: Happening,
): NewEvent {
  return {
    event,
    ts: nowMs,
    tenantId,
    jobId: null,
    ownerId: userId,
    details: { schedule: name, ...details },
    origin,
  };
}
