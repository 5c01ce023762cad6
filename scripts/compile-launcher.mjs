import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildLauncher } from "../launcher/build.mjs";
import { root, stateDir } from "./paths.mjs";

const launcherFile = join(stateDir, "writ-launcher");
const stampFile = join(stateDir, "launcher.stamp");

/** Compiles the launcher when its sources have changed. Without a compiler, it prints a line and set-up continues. */
export const compileLauncher = {
  name: "compiling the launcher",
  isSlow: true,

  isDone() {
    if (!existsSync(launcherFile) || !existsSync(stampFile)) return false;
    return readFileSync(stampFile, "utf8") === hashSources();
  },

  run() {
    // Removed first, so that a launcher built from older sources is never taken for the current one.
    rmSync(stampFile, { force: true });
    if (buildLauncher({ root, outFile: launcherFile }) === null) rmSync(launcherFile, { force: true });
    else writeFileSync(stampFile, hashSources());
  },
};

/** Changes with the launcher's sources and with how it is built. */
export function hashSources() {
  const folder = join(root, "launcher");
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}`);
  for (const path of readdirSync(folder, { recursive: true }).sort()) {
    if (path.startsWith("test/") || !/\.(c|h|mjs)$/.test(path)) continue;
    hash.update(`\0${path}\0`).update(readFileSync(join(folder, path)));
  }
  return hash.digest("hex");
}
