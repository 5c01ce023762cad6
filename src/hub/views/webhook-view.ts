import type { z } from "zod";
import type { webhookView as shape } from "../../contract/shapes/webhook-shapes.ts";
import { validSecrets, type Webhook } from "../../core/webhooks/webhook.ts";
import type { StandingOrder } from "../../store/order-store.ts";
import type { HubDeps } from "../deps.ts";
import { isOrderSealed } from "../use-cases/orders/seal-order.ts";
import { readWebhook } from "../use-cases/webhooks/webhook-record.ts";

export type WebhookView = z.input<typeof shape>;

/** A webhook as administrators see it. Of a row that does not match its seal, only the name is shown. */
export function webhookView(
  { keys, clock }: Pick<HubDeps, "keys" | "clock">,
  order: StandingOrder,
  secret?: string,
): WebhookView {
  const { name, tenantId, userId } = order;
  const whose = { name, tenant_id: tenantId, user_id: userId };
  if (!isOrderSealed(keys.macKey, order)) return { ...whose, ...damaged };
  const webhook = readWebhook(order);
  const { url, events, types, user_ids } = webhook.spec;
  const { seq, delivered, given_up, failing, disabled, created_at, changed_at } = webhook;
  const secrets = validSecrets(webhook, clock.nowMs());
  return {
    ...whose,
    state: stateOf(webhook),
    url,
    events,
    filter: { ...(types === null ? {} : { types }), ...(user_ids === null ? {} : { user_ids }) },
    seq,
    delivered,
    given_up,
    failing,
    disabled,
    secrets: secrets.map((one) => ({ created_at: one.created_at, expires_at: one.expires_at })),
    ...(secret === undefined ? {} : { secret }),
    created_at,
    changed_at,
  };
}

function stateOf({ disabled, failing }: Webhook): WebhookView["state"] {
  if (disabled !== null) return "disabled";
  return failing === null ? "active" : "failing";
}

const damaged = {
  state: "damaged",
  url: "",
  events: [],
  filter: {},
  seq: 0,
  delivered: { count: 0, last: null },
  given_up: { count: 0, last: null },
  failing: null,
  disabled: null,
  secrets: [],
  created_at: 0,
  changed_at: 0,
} satisfies Partial<WebhookView>;
