import type { hookRoutes } from "../../../contract/routes/hook-routes.ts";
import { putHook } from "../../use-cases/hooks/put-hook.ts";
import { receiveDelivery } from "../../use-cases/hooks/receive-delivery.ts";
import { removeHook } from "../../use-cases/hooks/remove-hook.ts";
import { findSealedOrder } from "../../use-cases/orders/find-order.ts";
import { listOrderPage } from "../../use-cases/orders/list-order-page.ts";
import { hookView } from "../../views/hook-view.ts";
import { done, type Handlers, nextPage } from "../call.ts";
import { headerOf } from "../exchange.ts";

export const hookHandlers: Handlers<keyof typeof hookRoutes> = {
  async putHook({ deps, identity, params, query, body, origin }) {
    const { order, isNew, secret } = await putHook(deps, { identity, ...params, ...query, body, origin });
    return { status: isNew ? 201 : 200, body: hookView(deps, order, { identity, secret }) };
  },

  async getHook({ deps, identity, params, query }) {
    const call = { identity, ...params, ...query, kind: "hook", to: "read" } as const;
    return { status: 200, body: hookView(deps, await findSealedOrder(deps, call), { identity }) };
  },

  async listHooks({ deps, identity, query }) {
    const { orders, next } = await listOrderPage(deps, { identity, kind: "hook", ...query });
    const body = orders.map((order) => hookView(deps, order, { identity }));
    return { status: 200, body, headers: nextPage(next) };
  },

  async removeHook({ deps, identity, params, query, origin }) {
    await removeHook(deps, { identity, ...params, ...query, origin });
    return done;
  },

  async receiveDelivery({ deps, params, body, origin, exchange }) {
    const delivery = { header: (name: string) => headerOf(exchange, name), body };
    return { status: 202, body: { id: await receiveDelivery(deps, { ...params, delivery, origin }) } };
  },
};
