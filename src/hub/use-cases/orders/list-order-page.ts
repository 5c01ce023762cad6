import { invalidArgument } from "../../../core/errors.ts";
import type { Identity } from "../../../core/identity.ts";
import type { OrderKind, StandingOrder } from "../../../store/order-store.ts";
import type { HubDeps } from "../../deps.ts";
import { tenantOf } from "./find-order.ts";

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
    after: cursor === undefined ? null : readCursor(cursor),
    limit,
  });
  const last = orders.at(-1);
  const next = orders.length < limit || last === undefined ? null : `${last.tenantId}/${last.name}`;
  return { orders, next };
}

function readCursor(cursor: string): { tenantId: string; name: string } {
  const at = cursor.indexOf("/");
  if (at === -1) throw invalidArgument({ path: "cursor", message: "is not a cursor of this list" });
  return { tenantId: cursor.slice(0, at), name: cursor.slice(at + 1) };
}
