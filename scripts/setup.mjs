import { pathToFileURL } from "node:url";
import { bundlePrograms } from "./bundle-programs.mjs";
import { chooseNode } from "./choose-node.mjs";
import { compileLauncher } from "./compile-launcher.mjs";
import { buildDashboard } from "./dashboard-step.mjs";
import { installPackages } from "./install-packages.mjs";

export { pinnedNode } from "./paths.mjs";

/**
 * Each step checks whether it is up to date and runs only if it is not; a later step may rely on the earlier ones.
 * These files run on the host's own Node (20 or newer) before anything is installed, so they use no packages.
 * package.json starts them with the Node that runs npm, because the `node` in node_modules/.bin may not run here.
 * Why: ADR 0001.
 *
 * @type {{ name: string, isSlow: boolean, isDone: () => boolean, run: () => void }[]}
 */
const steps = [installPackages, chooseNode, compileLauncher, bundlePrograms, buildDashboard];

/** Prepares the checkout, or prints one line that says why it cannot and ends the process. */
export function setup() {
  let workDone = 0;
  for (const step of steps) {
    try {
      if (step.isDone()) continue;
      if (step.isSlow) say(`${step.name}…`);
      step.run();
      workDone += 1;
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
      process.exit(1);
    }
  }
  return { workDone };
}

/** Progress goes to stderr, because stdout belongs to the program that runs after set-up. */
function say(line) {
  process.stderr.write(`writ: ${line}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { workDone } = setup();
  say(workDone === 0 ? "already set up; nothing to do" : "set up");
}
