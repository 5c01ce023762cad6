import type { scheduleRoutes } from "../../../contract/routes/schedule-routes.ts";
import { findSealedOrder } from "../../use-cases/orders/find-order.ts";
import { listOrderPage } from "../../use-cases/orders/list-order-page.ts";
import {
  backfillSchedule,
  removeSchedule,
  runSchedule,
  setSchedulePaused,
} from "../../use-cases/schedules/change-schedule.ts";
import { putSchedule } from "../../use-cases/schedules/put-schedule.ts";
import { scheduleView } from "../../views/schedule-view.ts";
import { type Answer, type Call, done, type Handlers, nextPage } from "../call.ts";

const pastShown = 20;

export const scheduleHandlers: Handlers<keyof typeof scheduleRoutes> = {
  async putSchedule({ deps, identity, params, query, body, origin }) {
    const { order, isNew } = await putSchedule(deps, { identity, ...params, ...query, body, origin });
    return { status: isNew ? 201 : 200, body: scheduleView(deps, order, { identity }) };
  },

  async getSchedule({ deps, identity, params, query }) {
    const order = await findSealedOrder(deps, {
      identity,
      ...params,
      ...query,
      kind: "schedule",
      to: "read",
    });
    const past = await deps.store.listOccurrences({ orderId: order.id, limit: pastShown });
    return { status: 200, body: scheduleView(deps, order, { identity, past }) };
  },

  async listSchedules({ deps, identity, query }) {
    const { orders, next } = await listOrderPage(deps, { identity, kind: "schedule", ...query });
    return {
      status: 200,
      body: orders.map((order) => scheduleView(deps, order, { identity })),
      headers: nextPage(next),
    };
  },

  async removeSchedule({ deps, identity, params, query, origin }) {
    await removeSchedule(deps, { identity, ...params, ...query, origin });
    return done;
  },

  pauseSchedule: (call) => setPaused(call, true),
  resumeSchedule: (call) => setPaused(call, false),

  async runSchedule({ deps, identity, params, query, origin }) {
    const jobId = await runSchedule(deps, { identity, ...params, ...query, origin });
    return { status: 201, body: { job_id: jobId } };
  },

  async backfillSchedule({ deps, identity, params, query, body, origin }) {
    const added = await backfillSchedule(deps, { identity, ...params, ...query, ...body, origin });
    return { status: 200, body: { added } };
  },
};

async function setPaused(
  { deps, identity, params, query, origin }: Call<"pauseSchedule" | "resumeSchedule">,
  isPaused: boolean,
): Promise<Answer<"pauseSchedule">> {
  const order = await setSchedulePaused(deps, { identity, ...params, ...query, isPaused, origin });
  return { status: 200, body: scheduleView(deps, order, { identity }) };
}
