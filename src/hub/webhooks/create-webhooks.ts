import { repeat, type Service } from "../../runtime/service.ts";
import type { StandingOrder } from "../../store/order-store.ts";
import type { HubDeps } from "../deps.ts";
import { unlessLeadLost } from "../leadership.ts";
import { isOrderSealed } from "../use-cases/orders/seal-order.ts";
import { webhookEvent } from "../use-cases/webhooks/webhook-record.ts";
import { type DeliveryDeps, WebhookDelivery } from "./deliver-events.ts";

const roundMs = 1_000;
/** As many are served at once, the longest due first. A tenant has at most 20 by default. */
const servedMax = 2_000;

type Deps = DeliveryDeps & Pick<HubDeps, "logger" | "failures">;
type Running = { delivery: WebhookDelivery; stop: AbortController; ended: Promise<void> };

/**
 * Each webhook is a reader of the log with its own place, so a receiver that is slow or away delays no other. This runs at the hub
 * that leads; another one that takes the lead continues from the places in the database. Why: ADR 0142.
 */
export function createWebhooks(deps: Deps): Service {
  const running = new Map<string, Running>();
  const onError = unlessLeadLost((error) => deps.failures.error(error, "the webhooks could not be read"));
  const rounds = repeat({ name: "webhooks", intervalMs: roundMs, clock: deps.clock, onError }, (signal) =>
    serveAll(deps, running, signal),
  );
  return {
    name: "webhooks",
    start: () => rounds.start(),
    async stop() {
      await rounds.stop();
      for (const { stop } of running.values()) stop.abort();
      await Promise.all([...running.values()].map(({ ended }) => ended));
    },
  };
}

async function serveAll(deps: Deps, running: Map<string, Running>, signal: AbortSignal): Promise<void> {
  // Only what is disabled or damaged is never due.
  const due = { kind: "webhook", nowMs: Number.MAX_SAFE_INTEGER, limit: servedMax } as const;
  const { orders } = await deps.store.listDueOrders(due);
  const byId = new Map(orders.map((order) => [order.id, order]));
  for (const [id, { delivery, stop }] of running) {
    const order = byId.get(id);
    if (order === undefined || order.revision > delivery.revision) stop.abort();
  }
  for (const order of orders) {
    if (signal.aborted) return;
    if (running.has(order.id)) continue;
    if (isOrderSealed(deps.keys.macKey, order)) serve(deps, running, order);
    else await setAside(deps, order);
  }
}

function serve(deps: Deps, running: Map<string, Running>, order: StandingOrder): void {
  const stop = new AbortController();
  const delivery = new WebhookDelivery(deps, order, stop.signal);
  const tell = unlessLeadLost((error) =>
    deps.failures.error(error, "a webhook could not be served", {
      webhook: order.name,
      tenant: order.tenantId,
    }),
  );
  const ended = delivery
    .run()
    .catch((error: unknown) => {
      if (!stop.signal.aborted) tell(error);
    })
    // The next round begins it anew from its row, if that is due.
    .finally(() => running.delete(order.id));
  running.set(order.id, { delivery, stop, ended });
}

/** A row that something else than a hub has changed is never used. It is reported once, and looked at no more. */
async function setAside({ store, clock, logger }: Deps, order: StandingOrder): Promise<void> {
  const error = "the row of a webhook does not match its seal; the webhook sends nothing";
  const details = { violation_type: "INVALID_SEAL", error };
  const event = webhookEvent(order, { event: "SECURITY_VIOLATION", details, nowMs: clock.nowMs() });
  const aside = { order: { ...order, nextAt: null }, revisionBefore: order.revision };
  await store.putOrder({ ...aside, events: [event], most: Number.MAX_SAFE_INTEGER });
  logger.error({ webhook: order.name, tenant: order.tenantId }, error);
}
