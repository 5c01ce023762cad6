import type { NewEvent } from "../../../core/events.ts";
import { macOfText } from "../../../signing/mac.ts";
import type { StandingOrder } from "../../../store/order-store.ts";
import { type Happening, type OrderBefore, orderEvent, sealOrder } from "../orders/seal-order.ts";

/** How a delivery proves that it was sent by somebody who knows the secret. */
type HookProof = "standard-webhooks" | "github" | { hmac_sha256_header: string };

/** A hook, with times in milliseconds and everything else as it is called in the API. Why: ADR 0143. */
export type Hook = {
  id: string;
  /** The submission that each delivery makes, as canonical JSON. */
  job: string;
  verify: HookProof;
  tolerance_sec: number;
  /** With which token or certificate it was put. */
  put_with: string;
  /** The secret is made from it. */
  salt: string;
  created_at: number;
  changed_at: number;
};

export function hookOrder(macKey: Buffer, before: OrderBefore, hook: Hook): StandingOrder {
  const { tenantId, name, userId, revision } = before;
  const { id, ...state } = hook;
  return sealOrder(macKey, {
    kind: "hook",
    tenantId,
    name,
    id,
    userId,
    revision: revision + 1,
    nextAt: null,
    cursor: 0,
    state: JSON.stringify(state),
  });
}

/** What a sealed row says. The caller has checked the seal. */
export function readHook({ id, state }: StandingOrder): Hook {
  return { ...(JSON.parse(state) as Omit<Hook, "id">), id };
}

export function hookEvent(order: Omit<OrderBefore, "revision">, happening: Happening): NewEvent {
  return orderEvent("hook", order, happening);
}

const secretPurpose = "writ hook secret 1\n";

/** Made from the hub's own key, so the database has nothing that could sign. */
export function secretOf(macKey: Buffer, { id, salt }: Pick<Hook, "id" | "salt">): string {
  return `whsec_${macOfText(macKey, secretPurpose, JSON.stringify([id, salt])).toString("base64")}`;
}
