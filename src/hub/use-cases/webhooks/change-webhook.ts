import { invalidArgument, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { rotateSecret, type Webhook } from "../../../core/webhooks/webhook.ts";
import type { StandingOrder } from "../../../store/order-store.ts";
import type { HubDeps } from "../../deps.ts";
import { findOrder, findSealedOrder, type OrderCall } from "../orders/find-order.ts";
import { newestSecret, readWebhook, webhookEvent, webhookOrder } from "./webhook-record.ts";

type Call = OrderCall & { origin: Origin };

/** Deliveries move the row too, so a change may have to be made anew more than once. */
const triesMax = 20;

/** A new secret, shown once; the one before stays valid for a day. */
export async function rotateWebhook(
  deps: HubDeps,
  call: Call,
): Promise<{ order: StandingOrder; secret: string }> {
  const salt = deps.ids.recordId();
  const { order, webhook } = await change(deps, call, (before, nowMs) => ({
    webhook: rotateSecret(before, salt, nowMs),
    details: { act: "rotated" },
  }));
  return { order, secret: newestSecret(deps.keys.macKey, webhook) };
}

/** Sends what is in the log from this event on, once more or for the first time. Enables a webhook that was disabled. */
export async function redeliverWebhook(
  deps: HubDeps,
  call: Call & { fromSeq: number },
): Promise<StandingOrder> {
  const { fromSeq } = call;
  const { first, last } = await deps.store.eventRange();
  if (fromSeq < first || fromSeq > last + 1)
    throw invalidArgument({
      path: "from_seq",
      message: `must be from ${first} to ${last + 1}: older events are no longer in the log`,
    });
  const { order } = await change(deps, call, (before, nowMs) => ({
    webhook: { ...before, seq: fromSeq - 1, failing: null, disabled: null, changed_at: nowMs },
    details: { act: "redeliver", from_seq: fromSeq },
  }));
  return order;
}

export async function removeWebhook(deps: HubDeps, call: Call): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    const order = await findOrder(deps, { ...call, kind: "webhook", to: "change" });
    if (order === null) throw new WritError("NOT_FOUND", `there is no webhook ${call.name}`);
    const { tenantId, name, revision } = order;
    const happened = { details: { act: "removed" }, nowMs: deps.clock.nowMs(), origin: call.origin };
    const event = webhookEvent(order, { event: "WEBHOOK_CHANGED", ...happened });
    if (await deps.store.removeOrder({ kind: "webhook", tenantId, name, revision, events: [event] })) return;
  }
  throw changedMeanwhile(call);
}

type Changed = { webhook: Webhook; details: Record<string, unknown> };

async function change(
  deps: HubDeps,
  call: Call,
  make: (before: Webhook, nowMs: number) => Changed,
): Promise<{ order: StandingOrder; webhook: Webhook }> {
  for (let tries = 0; tries < triesMax; tries++) {
    const before = await findSealedOrder(deps, { ...call, kind: "webhook", to: "change" });
    const nowMs = deps.clock.nowMs();
    const { webhook, details } = make(readWebhook(before), nowMs);
    const order = webhookOrder(deps.keys.macKey, before, webhook);
    const event = webhookEvent(order, { event: "WEBHOOK_CHANGED", details, nowMs, origin: call.origin });
    const put = { order, revisionBefore: before.revision, events: [event], most: Number.MAX_SAFE_INTEGER };
    if ((await deps.store.putOrder(put)) === "kept") return { order, webhook };
  }
  throw changedMeanwhile(call);
}

function changedMeanwhile({ name }: Call): WritError {
  return new WritError(
    "STATE_CONFLICT",
    `the webhook ${name} was changed again and again meanwhile; try again`,
  );
}
