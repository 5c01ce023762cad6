import { join } from "node:path";

const folder = join(import.meta.dirname, "../../node_modules/.writ");

/** Where set-up puts what it builds. In the package that `npm run pack` makes, this file is replaced by one of its own. */
export const builtFiles = {
  launcher: join(folder, "writ-launcher"),
  dashboard: join(folder, "dashboard"),
  docs: join(import.meta.dirname, "../../docs"),
} as const;

/** What has the launcher built, once there is a compiler. */
export const buildAdvice = "run: npm run setup";
