import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isFresh } from "./is-fresh.mjs";
import { bundleDir, manifestOf, pinnedNode, programs, root } from "./paths.mjs";

const loaderSource = join(root, "scripts", "bundle-loader.cjs");
const loaderOf = (name) => join(bundleDir, `${name}.cjs`);

/**
 * Set-up step: bundles each program into one file, so that it starts faster and uses less memory (docs/adr/0017).
 * Without the bundles the programs run from their sources. Why: ADR 0017.
 */
export const bundlePrograms = {
  name: "bundling the programs",
  isSlow: false,
  isDone() {
    return programs.every((name) => isSameFile(loaderOf(name), loaderSource) && isFresh(manifestOf(name)));
  },
  run() {
    mkdirSync(bundleDir, { recursive: true });
    const args = [join(root, "scripts", "build-bundles.mjs")];
    const { status, stderr } = spawnSync(pinnedNode, args, { cwd: root, encoding: "utf8", timeout: 60_000 });
    if (status !== 0) {
      for (const name of programs) rmSync(manifestOf(name), { force: true });
      const why = /^.*\berror:.*$/im.exec(stderr ?? "")?.[0].trim() ?? "the bundler failed";
      process.stderr.write(`writ: the programs could not be bundled (${why}); they will start more slowly\n`);
    }
    for (const name of programs) copyFileSync(loaderSource, loaderOf(name));
  },
};

function isSameFile(one, other) {
  return existsSync(one) && readFileSync(one).equals(readFileSync(other));
}
