import type { laneRoutes } from "../../../contract/routes/lane-routes.ts";
import { tenantOf } from "../../use-cases/orders/find-order.ts";
import { nameCursor, readNameCursor } from "../../use-cases/orders/name-cursor.ts";
import { laneView } from "../../views/lane-view.ts";
import { type Handlers, nextPage } from "../call.ts";

const pageDefault = 200;

export const laneHandlers: Handlers<keyof typeof laneRoutes> = {
  async listLanes({ deps, identity, query }) {
    const { limit = pageDefault, cursor, tenant } = query;
    const lanes = await deps.store.listLanes({
      tenantId: tenant === undefined ? identity.tenantId : tenantOf({ identity, tenant }),
      after: cursor === undefined ? null : readNameCursor(cursor),
      limit,
    });
    const nowMs = deps.clock.nowMs();
    return {
      status: 200,
      body: lanes.map((lane) => laneView(lane, identity, nowMs)),
      headers: nextPage(lanes.length < limit ? null : nameCursor(lanes.at(-1))),
    };
  },
};
