import { timingSafeEqual } from "node:crypto";
import type { NewEvent } from "../../../core/events.ts";
import { macOfText } from "../../../signing/mac.ts";
import type { OrderKind, StandingOrder } from "../../../store/order-store.ts";

const purpose = "writ standing order seal 1\n";

/** Everything of the row is sealed: what an order is, whose it is, and how far it has come. Why: ADR 0130. */
export function sealOrder(macKey: Buffer, order: Omit<StandingOrder, "seal">): StandingOrder {
  return { ...order, seal: sealOf(macKey, order) };
}

export function isOrderSealed(macKey: Buffer, order: StandingOrder): boolean {
  const [found, made] = [Buffer.from(order.seal), Buffer.from(sealOf(macKey, order))];
  return found.length === made.length && timingSafeEqual(found, made);
}

function sealOf(macKey: Buffer, order: Omit<StandingOrder, "seal">): string {
  const { kind, tenantId, name, id, userId, revision, nextAt, cursor, state } = order;
  const text = JSON.stringify([kind, tenantId, name, id, userId, revision, nextAt, cursor, state]);
  return macOfText(macKey, purpose, text).toString("base64url");
}

/** What a new row of an order keeps of the one before. */
export type OrderBefore = Pick<StandingOrder, "tenantId" | "name" | "userId" | "revision">;

export type Happening = Pick<NewEvent, "event" | "details"> & { nowMs: number; origin?: NewEvent["origin"] };

/** An event of an order, which its details name by its kind. */
export function orderEvent(
  kind: OrderKind,
  { tenantId, userId, name }: Omit<OrderBefore, "revision">,
  { event, details, nowMs, origin = null }: Happening,
): NewEvent {
  return {
    event,
    ts: nowMs,
    tenantId,
    jobId: null,
    ownerId: userId,
    details: { [kind]: name, ...details },
    origin,
  };
}
