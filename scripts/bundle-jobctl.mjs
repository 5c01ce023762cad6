import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { bundleDir, bundleManifest, pinnedNode, root } from "./paths.mjs";

const loader = join(bundleDir, "jobctl.mjs");
const loaderSource = join(root, "scripts", "jobctl-loader.mjs");

/** Set-up step: jobctl is bundled, which makes it start three times as fast. Without the bundle it runs all the same. */
export const bundleJobctl = {
  name: "bundling jobctl",
  isSlow: false,
  isDone() {
    return existsSync(bundleManifest) && isSameFile(loader, loaderSource) && isFresh();
  },
  run() {
    const args = [join(root, "scripts", "build-jobctl.mjs")];
    const { status, stderr } = spawnSync(pinnedNode, args, { cwd: root, encoding: "utf8", timeout: 60_000 });
    if (status !== 0) {
      const why = /^.*\berror:.*$/im.exec(stderr ?? "")?.[0].trim() ?? "the builder did not end well";
      process.stderr.write(`writ: jobctl could not be bundled (${why}); it starts more slowly\n`);
      return;
    }
    mkdirSync(bundleDir, { recursive: true });
    copyFileSync(loaderSource, loader);
  },
};

/** The same look as the loader takes at each start. */
function isFresh() {
  return JSON.parse(readFileSync(bundleManifest, "utf8")).every(([path, size, seconds]) => {
    const found = statSync(join(root, path), { throwIfNoEntry: false });
    return found?.size === size && Math.floor(found.mtimeMs / 1000) === seconds;
  });
}

function isSameFile(one, other) {
  return existsSync(one) && readFileSync(one).equals(readFileSync(other));
}
