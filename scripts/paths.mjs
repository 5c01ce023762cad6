import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout that these scripts belong to, wherever they are called from. */
export const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

/** What set-up leaves behind. It lies in node_modules so that a clean install also forgets it. */
export const stateDir = join(root, "node_modules", ".writ");

/** Where set-up puts the programs, each made into one file, and beside each the list of what it was made of. */
export const bundleDir = join(stateDir, "bundle");
export const programs = ["jobctl", "writ"];
export const manifestOf = (program) => join(bundleDir, `${program}.json`);

/** The Node that everything in this checkout runs on, as chosen by set-up. */
export const pinnedNode = join(stateDir, "node");
