import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout that these scripts belong to, wherever they are called from. */
export const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

/** Where set-up keeps its results: inside node_modules, so that a clean install removes them too. */
export const stateDir = join(root, "node_modules", ".writ");

/** Where set-up puts the bundled programs, each with a list of its sources. */
export const bundleDir = join(stateDir, "bundle");
export const programs = ["jobctl", "writ", "writ-agent"];
export const sourceOf = (program) => `src/${program === "writ-agent" ? "agent" : "cli"}/${program}.ts`;
export const manifestOf = (program) => join(bundleDir, `${program}.json`);

/** Where set-up puts the built dashboard; the hub serves this folder. */
export const dashboardDir = join(stateDir, "dashboard");
export const dashboardManifest = join(stateDir, "dashboard.json");

/** The Node that everything in this checkout runs on, as chosen by set-up. */
export const pinnedNode = join(stateDir, "node");
