import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout that these scripts belong to, wherever they are called from. */
export const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

/** What set-up leaves behind. It lies in node_modules so that a clean install also forgets it. */
export const stateDir = join(root, "node_modules", ".writ");

/** The Node that everything in this checkout runs on, as chosen by set-up. */
export const pinnedNode = join(stateDir, "node");
