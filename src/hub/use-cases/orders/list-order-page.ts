import type { Identity } from "../../../core/identity.ts";
import type { OrderKind, StandingOrder } from "../../../store/order-store.ts";
import type { HubDeps } from "../../deps.ts";
import { tenantOf } from "./find-order.ts";
import { nameCursor, readNameCursor } from "./name-cursor.ts";

const pageDefault = 200;

type Asked = {
  identity: Identity;
  kind: OrderKind;
  limit?: number | undefined;
  cursor?: string | undefined;
  tenant?: string | undefined;
};

/** The orders of a kind that the caller may see, by tenant and name, and the cursor of the next page. */
export async function listOrderPage(
  { store }: Pick<HubDeps, "store">,
  { identity, kind, limit = pageDefault, cursor, tenant }: Asked,
): Promise<{ orders: StandingOrder[]; next: string | null }> {
  const orders = await store.listOrders({
    kind,
    tenantId: tenant === undefined ? identity.tenantId : tenantOf({ identity, tenant }),
    userId: identity.role === "user" ? identity.userId : null,
    after: cursor === undefined ? null : readNameCursor(cursor),
    limit,
  });
  return { orders, next: orders.length < limit ? null : nameCursor(orders.at(-1)) };
}
