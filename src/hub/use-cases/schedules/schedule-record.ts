import type { NewEvent } from "../../../core/events.ts";
import { parseCron } from "../../../core/schedules/cron.ts";
import type { Timing } from "../../../core/schedules/occurrences.ts";
import type { Schedule, ScheduleSpec } from "../../../core/schedules/schedule.ts";
import type { StandingOrder } from "../../../store/order-store.ts";
import { timeZone } from "../../schedules/time-zone.ts";
import { type Happening, type OrderBefore, orderEvent, sealOrder } from "../orders/seal-order.ts";

/** The row of a schedule that has become this, and is due then. */
export function scheduleOrder(
  macKey: Buffer,
  before: OrderBefore,
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

export function scheduleEvent(order: Omit<OrderBefore, "revision">, happening: Happening): NewEvent {
  return orderEvent("schedule", order, happening);
}
