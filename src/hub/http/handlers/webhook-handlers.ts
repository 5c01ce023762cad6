import type { webhookRoutes } from "../../../contract/routes/webhook-routes.ts";
import { findSealedOrder } from "../../use-cases/orders/find-order.ts";
import { listOrderPage } from "../../use-cases/orders/list-order-page.ts";
import { redeliverWebhook, removeWebhook, rotateWebhook } from "../../use-cases/webhooks/change-webhook.ts";
import { putWebhook } from "../../use-cases/webhooks/put-webhook.ts";
import { webhookView } from "../../views/webhook-view.ts";
import { done, type Handlers, nextPage } from "../call.ts";

export const webhookHandlers: Handlers<keyof typeof webhookRoutes> = {
  async putWebhook({ deps, identity, params, query, body, origin }) {
    const { order, isNew, secret } = await putWebhook(deps, { identity, ...params, ...query, body, origin });
    return { status: isNew ? 201 : 200, body: webhookView(deps, order, secret) };
  },

  async getWebhook({ deps, identity, params, query }) {
    const call = { identity, ...params, ...query, kind: "webhook", to: "read" } as const;
    return { status: 200, body: webhookView(deps, await findSealedOrder(deps, call)) };
  },

  async listWebhooks({ deps, identity, query }) {
    const { orders, next } = await listOrderPage(deps, { identity, kind: "webhook", ...query });
    return { status: 200, body: orders.map((order) => webhookView(deps, order)), headers: nextPage(next) };
  },

  async removeWebhook({ deps, identity, params, query, origin }) {
    await removeWebhook(deps, { identity, ...params, ...query, origin });
    return done;
  },

  async rotateWebhook({ deps, identity, params, query, origin }) {
    const { order, secret } = await rotateWebhook(deps, { identity, ...params, ...query, origin });
    return { status: 200, body: webhookView(deps, order, secret) };
  },

  async redeliverWebhook({ deps, identity, params, query, body, origin }) {
    const call = { identity, ...params, ...query, fromSeq: body.from_seq, origin };
    return { status: 200, body: webhookView(deps, await redeliverWebhook(deps, call)) };
  },
};
