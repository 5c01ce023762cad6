import { WritError } from "../../../core/errors.ts";
import { defaultTenant, type Identity } from "../../../core/identity.ts";
import type { OrderKind, StandingOrder } from "../../../store/order-store.ts";
import type { HubDeps } from "../../deps.ts";
import { isOrderSealed } from "./seal-order.ts";

export type OrderCall = { identity: Identity; name: string; tenant?: string | undefined };

/** The tenant that a call is about: the caller's own, or the one that an administrator of the hub names. */
export function tenantOf({ identity, tenant }: Omit<OrderCall, "name">): string {
  if (tenant !== undefined && identity.tenantId !== null && tenant !== identity.tenantId)
    throw new WritError("NOT_FOUND", `there is no tenant ${tenant}`);
  return tenant ?? identity.tenantId ?? defaultTenant;
}

/** The order of this name, if the caller may do this to it; null if there is none. */
export async function findOrder(
  deps: Pick<HubDeps, "store">,
  { kind, to, ...call }: OrderCall & { kind: OrderKind; to: "read" | "change" },
): Promise<StandingOrder | null> {
  const { identity, name } = call;
  const order = await deps.store.getOrder({ kind, tenantId: tenantOf(call), name });
  if (order === null) return null;
  const mayRead = identity.role === "viewer" && to === "read";
  if (identity.role === "admin" || mayRead || order.userId === identity.userId) return order;
  throw new WritError("PERMISSION_DENIED", `the ${kind} ${name} belongs to another user`);
}

/** The same; throws if there is none, or if its row was changed by something that is no hub. */
export async function findSealedOrder(
  deps: Pick<HubDeps, "store" | "keys">,
  call: OrderCall & { kind: OrderKind; to: "read" | "change" },
): Promise<StandingOrder> {
  const order = await findOrder(deps, call);
  if (order === null) throw new WritError("NOT_FOUND", `there is no ${call.kind} ${call.name}`);
  if (!isOrderSealed(deps.keys.macKey, order)) throw damagedOrder(order);
  return order;
}

function damagedOrder({ kind, name }: StandingOrder): WritError {
  return new WritError(
    "STORE_CORRUPT",
    `the stored ${kind} ${name} does not match its seal, so it is not used; remove it and create it again`,
  );
}
