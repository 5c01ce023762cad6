import type { statisticsRoutes } from "../../../contract/routes/statistics-routes.ts";
import { readStatistics } from "../../use-cases/jobs/read-statistics.ts";
import { statisticsView } from "../../views/statistics-view.ts";
import type { Handlers } from "../call.ts";

export const statisticsHandlers: Handlers<keyof typeof statisticsRoutes> = {
  async readStatistics({ deps, identity, query: { range = "1h", type, tenant_id } }) {
    const report = await readStatistics(deps, { identity, tenantId: tenant_id, range, type });
    return { status: 200, body: statisticsView(report, { range, type }) };
  },
};
