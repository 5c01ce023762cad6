import { adminRoutes } from "./admin-routes.ts";
import { auditRoutes } from "./audit-routes.ts";
import { fileRoutes } from "./file-routes.ts";
import { jobRoutes } from "./job-routes.ts";
import { statisticsRoutes } from "./statistics-routes.ts";

/** The routes that the dashboard calls. A browser loads the shapes of all of them, so those of workers are not among them. */
export const pageRoutes = {
  ...jobRoutes,
  ...fileRoutes,
  ...adminRoutes,
  ...auditRoutes,
  ...statisticsRoutes,
} as const;
