import { adminRoutes } from "./admin-routes.ts";
import { auditRoutes } from "./audit-routes.ts";
import { fileRoutes } from "./file-routes.ts";
import { hookRoutes } from "./hook-routes.ts";
import { jobRoutes } from "./job-routes.ts";
import { laneRoutes } from "./lane-routes.ts";
import { scheduleRoutes } from "./schedule-routes.ts";
import { statisticsRoutes } from "./statistics-routes.ts";
import { webhookRoutes } from "./webhook-routes.ts";
import { workerRoutes } from "./worker-routes.ts";

/** The whole HTTP API below /api/v1 (and /api). Why: ADR 0005, ADR 0024. */
export const routes = {
  ...jobRoutes,
  ...fileRoutes,
  ...workerRoutes,
  ...adminRoutes,
  ...auditRoutes,
  ...statisticsRoutes,
  ...scheduleRoutes,
  ...webhookRoutes,
  ...hookRoutes,
  ...laneRoutes,
} as const;

export type RouteName = keyof typeof routes;
