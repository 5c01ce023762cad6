import { pathToFileURL } from "node:url";
import { bundlePrograms } from "./bundle-programs.mjs";
import { chooseNode } from "./choose-node.mjs";
import { compileLauncher } from "./compile-launcher.mjs";
import { installPackages } from "./install-packages.mjs";

export { pinnedNode } from "./paths.mjs";

/**
 * Each step says whether its work is still good and does it when not; a later step may rely on the earlier
 * ones. These files run on the host's own Node (20 or newer) with nothing installed, so they use no packages;
 * package.json starts them by npm's own Node, because the `node` in node_modules/.bin may not run on this host.
 *
 * @type {{ name: string, isSlow: boolean, isDone: () => boolean, run: () => void }[]}
 */
const steps = [installPackages, chooseNode, compileLauncher, bundlePrograms];

/** Brings the checkout into a state in which everything runs, or ends the process with one line that says why not. */
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

/** Progress goes to stderr: stdout belongs to whatever runs after set-up. */
function say(line) {
  process.stderr.write(`writ: ${line}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { workDone } = setup();
  say(workDone === 0 ? "already set up" : "set up");
}
