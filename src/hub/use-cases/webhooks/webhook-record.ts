import type { NewEvent } from "../../../core/events.ts";
import { validSecrets, type Webhook } from "../../../core/webhooks/webhook.ts";
import { macOfText } from "../../../signing/mac.ts";
import type { StandingOrder } from "../../../store/order-store.ts";
import { type Happening, type OrderBefore, orderEvent, sealOrder } from "../orders/seal-order.ts";

/** The row of a webhook that has become this. One that is disabled is due never, so no hub looks at it. */
export function webhookOrder(macKey: Buffer, before: OrderBefore, webhook: Webhook): StandingOrder {
  const { tenantId, name, userId, revision } = before;
  const { id, seq, ...state } = webhook;
  const isDue = webhook.disabled === null;
  return sealOrder(macKey, {
    kind: "webhook",
    tenantId,
    name,
    id,
    userId,
    revision: revision + 1,
    nextAt: isDue ? (webhook.failing?.next_at ?? webhook.created_at) : null,
    cursor: seq,
    state: JSON.stringify(state),
  });
}

/** What a sealed row says. The caller has checked the seal. */
export function readWebhook({ id, cursor, state }: StandingOrder): Webhook {
  return { ...(JSON.parse(state) as Omit<Webhook, "id" | "seq">), id, seq: cursor };
}

export function webhookEvent(order: Omit<OrderBefore, "revision">, happening: Happening): NewEvent {
  return orderEvent("webhook", order, happening);
}

const secretPurpose = "writ webhook secret 1\n";

/**
 * The key of a secret is made from the hub's own key and a random salt, so nothing in the database, or in a copy of it, can sign.
 * Why: ADR 0142.
 */
function secretKey(macKey: Buffer, id: string, salt: string): Buffer {
  return macOfText(macKey, secretPurpose, JSON.stringify([id, salt]));
}

/** As it is shown, once: the form of Standard Webhooks. */
export function newestSecret(macKey: Buffer, { id, secrets }: Webhook): string {
  return `whsec_${secretKey(macKey, id, secrets[0]!.salt).toString("base64")}`;
}

/** The keys that sign a message now: the newest first, and for a day the one before. */
export function signingKeys(macKey: Buffer, webhook: Webhook, nowMs: number): Buffer[] {
  return validSecrets(webhook, nowMs).map(({ salt }) => secretKey(macKey, webhook.id, salt));
}
