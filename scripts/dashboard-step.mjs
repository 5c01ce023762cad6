import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { isFresh } from "./is-fresh.mjs";
import { dashboardManifest, pinnedNode, root } from "./paths.mjs";

/** Set-up step: builds the dashboard, which the hub serves at `/`. Without it, the hub says there how to build it. */
export const buildDashboard = {
  name: "building the dashboard",
  isSlow: false,
  isDone() {
    return isFresh(dashboardManifest);
  },
  run() {
    const args = [join(root, "scripts", "build-dashboard.mjs")];
    const { status, stderr } = spawnSync(pinnedNode, args, { cwd: root, encoding: "utf8", timeout: 120_000 });
    if (status === 0) return;
    rmSync(dashboardManifest, { force: true });
    const why = /^.*\berror\b.*$/im.exec(stderr ?? "")?.[0].trim() ?? "the bundler failed";
    process.stderr.write(`writ: the dashboard could not be built (${why}); the rest works without it\n`);
  },
};
