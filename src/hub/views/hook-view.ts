import type { z } from "zod";
import type { hookView as shape } from "../../contract/shapes/hook-shapes.ts";
import type { Identity } from "../../core/identity.ts";
import type { StandingOrder } from "../../store/order-store.ts";
import type { HubDeps } from "../deps.ts";
import { readHook } from "../use-cases/hooks/hook-record.ts";
import { isOrderSealed } from "../use-cases/orders/seal-order.ts";
import { templateSeenBy } from "./template-view.ts";

export type HookView = z.input<typeof shape>;

/** A hook as its readers see it. Of a row that does not match its seal, only the name is shown. */
export function hookView(
  { keys }: Pick<HubDeps, "keys">,
  order: StandingOrder,
  { identity, secret }: { identity: Identity; secret?: string | undefined },
): HookView {
  const { name, tenantId, userId } = order;
  const path = `/api/v1/hooks/${tenantId}/${name}`;
  const whose = { name, tenant_id: tenantId, user_id: userId, path };
  if (!isOrderSealed(keys.macKey, order)) return { ...whose, ...damaged };
  const { job, verify, tolerance_sec, created_at, changed_at } = readHook(order);
  return {
    ...whose,
    state: "active",
    job: templateSeenBy(identity, order, job),
    verify,
    tolerance_sec,
    ...(secret === undefined ? {} : { secret }),
    created_at,
    changed_at,
  };
}

const damaged = {
  state: "damaged",
  job: null,
  verify: "github",
  tolerance_sec: 0,
  created_at: 0,
  changed_at: 0,
} satisfies Partial<HookView>;
