import type { StandingOrder } from "../../../store/order-store.ts";
import type { HubDeps } from "../../deps.ts";
import { isOrderSealed } from "../orders/seal-order.ts";
import { readWebhook, webhookEvent, webhookOrder } from "./webhook-record.ts";

type Deps = Pick<HubDeps, "store" | "clock"> & { keys: Pick<HubDeps["keys"], "macKey"> };

const ordersPerPage = 100;

/**
 * After a backup was restored: what the log says now was delivered before, as far as anybody knows, so every webhook continues at the
 * end. What is to be sent anyway is redelivered by a person. Returns how many there were.
 */
export async function resetAllWebhooks(deps: Deps, reason: string): Promise<number> {
  const { last } = await deps.store.eventRange();
  let count = 0;
  let after: { tenantId: string; name: string } | null = null;
  for (;;) {
    const page = { kind: "webhook", tenantId: null, userId: null, limit: ordersPerPage } as const;
    const orders: StandingOrder[] = await deps.store.listOrders({ ...page, after });
    for (const order of orders) if (await reset(deps, order, { seq: last, reason })) count++;
    after = orders.at(-1) ?? null;
    if (orders.length < ordersPerPage || after === null) return count;
  }
}

async function reset(
  deps: Deps,
  order: StandingOrder,
  { seq, reason }: { seq: number; reason: string },
): Promise<boolean> {
  if (!isOrderSealed(deps.keys.macKey, order)) return false;
  const nowMs = deps.clock.nowMs();
  const before = readWebhook(order);
  const details = { act: "reset", from_seq: before.seq, to_seq: seq, reason };
  const event = webhookEvent(order, { event: "WEBHOOK_CHANGED", details, nowMs });
  const next = webhookOrder(deps.keys.macKey, order, { ...before, seq, failing: null });
  const change = { order: next, revisionBefore: order.revision, events: [event] };
  return (await deps.store.putOrder({ ...change, most: Number.MAX_SAFE_INTEGER })) === "kept";
}
