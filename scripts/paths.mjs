import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout that these scripts belong to, wherever they are called from. */
export const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

/** What set-up leaves behind. It lies in node_modules so that a clean install also forgets it. */
export const stateDir = join(root, "node_modules", ".writ");

/** Where set-up puts the bundle of jobctl, and the list of the sources that it was made of. */
export const bundleDir = join(stateDir, "jobctl");
export const bundleManifest = join(bundleDir, "sources.json");

/** The Node that everything in this checkout runs on, as chosen by set-up. */
export const pinnedNode = join(stateDir, "node");
