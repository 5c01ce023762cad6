import type { HubDeps } from "../../deps.ts";
import { isOrderSealed } from "../orders/seal-order.ts";
import { readSchedule, scheduleEvent, scheduleOrder } from "./schedule-record.ts";

type Deps = Pick<HubDeps, "store" | "clock"> & { keys: Pick<HubDeps["keys"], "macKey"> };

const ordersPerPage = 100;

/**
 * Lets schedules that have come further than this continue from now. What they have fired stays noted, so nothing is fired twice.
 * Returns how many there were.
 */
export async function resetSchedulesAhead(
  deps: Deps,
  { afterMs, reason }: { afterMs: number; reason: string },
): Promise<number> {
  let count = 0;
  let afterId = "";
  for (;;) {
    const page = { kind: "schedule", afterMs, afterId, limit: ordersPerPage } as const;
    const orders = await deps.store.listOrdersAhead(page);
    for (const order of orders) if (await reset(deps, order, reason)) count++;
    if (orders.length < ordersPerPage) return count;
    afterId = orders.at(-1)!.id;
  }
}

/** After a backup was restored: what was due meanwhile may have been fired after the backup was made. */
export async function resetAllSchedules(deps: Deps, reason: string): Promise<number> {
  let count = 0;
  let after: { tenantId: string; name: string } | null = null;
  for (;;) {
    const page = { kind: "schedule", tenantId: null, userId: null, limit: ordersPerPage } as const;
    const orders: Awaited<ReturnType<Deps["store"]["listOrders"]>> = await deps.store.listOrders({
      ...page,
      after,
    });
    for (const order of orders) if (await reset(deps, order, reason)) count++;
    after = orders.at(-1) ?? null;
    if (orders.length < ordersPerPage || after === null) return count;
  }
}

async function reset(
  deps: Deps,
  order: Awaited<ReturnType<Deps["store"]["listOrders"]>>[number],
  reason: string,
): Promise<boolean> {
  if (!isOrderSealed(deps.keys.macKey, order)) return false;
  const nowMs = deps.clock.nowMs();
  const before = readSchedule(order);
  const schedule = { ...before, cursorMs: nowMs, cursorLocalMs: null, waiting: [] };
  const details = { from: before.cursorMs, to: nowMs, reason };
  const event = scheduleEvent(order, { event: "SCHEDULE_RESET", details, nowMs });
  // The next look, which is at once, finds when it is due.
  const next = scheduleOrder(deps.keys.macKey, order, { schedule, nextAtMs: nowMs });
  const change = { order: next, revisionBefore: order.revision, events: [event] };
  return (await deps.store.putOrder({ ...change, most: Number.MAX_SAFE_INTEGER })) === "kept";
}
