import type { z } from "zod";
import type { webhookBody } from "../../../contract/shapes/webhook-shapes.ts";
import { invalidArgument, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { webhooksAllowed } from "../../../core/jobs/quota.ts";
import { rotateSecret, type Webhook, type WebhookSpec } from "../../../core/webhooks/webhook.ts";
import { checkUrl } from "../../../runtime/guarded-fetch/check-url.ts";
import { FetchError } from "../../../runtime/guarded-fetch/fetch-error.ts";
import type { StandingOrder } from "../../../store/order-store.ts";
import type { HubDeps } from "../../deps.ts";
import { allowedHosts, webhookPurpose } from "../../webhooks/allowed-hosts.ts";
import { findOrder, type OrderCall, tenantOf } from "../orders/find-order.ts";
import { isOrderSealed } from "../orders/seal-order.ts";
import { newestSecret, readWebhook, webhookEvent, webhookOrder } from "./webhook-record.ts";

type PutCall = OrderCall & { body: z.infer<typeof webhookBody>; origin: Origin };
type Put = { order: StandingOrder; isNew: boolean; secret?: string };

/** Creates or changes a webhook, or enables it again. What is the same as before changes nothing. Why: ADR 0142. */
export async function putWebhook(deps: HubDeps, call: PutCall): Promise<Put> {
  const { identity, body, origin } = call;
  const nowMs = deps.clock.nowMs();
  const tenantId = tenantOf(call);
  const spec = specOf(body);
  checkAddress(deps, spec.url);
  const before = await findOrder(deps, { ...call, kind: "webhook", to: "change" });
  const known = before !== null && isOrderSealed(deps.keys.macKey, before) ? readWebhook(before) : null;
  if (known !== null && known.disabled === null && JSON.stringify(known.spec) === JSON.stringify(spec))
    return { order: before!, isNew: false };
  const id = before?.id ?? deps.ids.recordId();
  const webhook =
    known === null
      ? await newWebhook(deps, { id, spec, nowMs })
      : { ...known, spec, failing: null, disabled: null, changed_at: nowMs };
  const whose = { tenantId, userId: before?.userId ?? identity.userId, name: call.name };
  const order = webhookOrder(deps.keys.macKey, { ...whose, revision: before?.revision ?? 0 }, webhook);
  const details = { act: before === null ? "created" : "changed", host: new URL(spec.url).host };
  const event = webhookEvent(order, { event: "WEBHOOK_CHANGED", details, nowMs, origin });
  const most = webhooksAllowed(await deps.quotas.get(tenantId));
  const revisionBefore = before?.revision ?? null;
  const outcome = await deps.store.putOrder({ order, revisionBefore, events: [event], most });
  if (outcome === "too_many")
    throw new WritError("QUOTA_EXCEEDED", `the tenant has ${most} webhooks, which is all that it may have`);
  // A delivery, or another person, has moved it meanwhile.
  if (outcome === "moved") return putWebhook(deps, call);
  if (known !== null) return { order, isNew: false };
  return { order, isNew: before === null, secret: newestSecret(deps.keys.macKey, webhook) };
}

function specOf({ url, events, filter = {} }: PutCall["body"]): WebhookSpec {
  return {
    url,
    events: [...new Set(events)].sort(),
    types: filter.types ?? null,
    user_ids: filter.user_ids ?? null,
  };
}

/** What can be known before the host is resolved. The address itself is looked at in each call. */
function checkAddress(deps: HubDeps, url: string): void {
  try {
    checkUrl(url, allowedHosts(deps.settings), webhookPurpose);
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    throw invalidArgument({ path: "url", message: error.message.replace(/^the URL /, "") });
  }
}

/** It begins at the end of the log: what happened before it was made is not sent. */
async function newWebhook(
  deps: HubDeps,
  { id, spec, nowMs }: { id: string; spec: WebhookSpec; nowMs: number },
): Promise<Webhook> {
  const { last } = await deps.store.eventRange();
  const webhook: Webhook = {
    id,
    spec,
    seq: last,
    secrets: [],
    failing: null,
    delivered: { count: 0, last: null },
    given_up: { count: 0, last: null },
    disabled: null,
    created_at: nowMs,
    changed_at: nowMs,
  };
  return rotateSecret(webhook, deps.ids.recordId(), nowMs);
}
