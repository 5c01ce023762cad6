import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildLauncher } from "../../launcher/build.mjs";
import { hashSources } from "../compile-launcher.mjs";
import { root, stateDir } from "../paths.mjs";

/** The compilers for another processor than the host's; Debian has them as gcc-aarch64-linux-gnu and gcc-x86-64-linux-gnu. */
const crossCompilers = { x64: ["x86_64-linux-gnu-gcc"], arm64: ["aarch64-linux-gnu-gcc"] };

/**
 * Builds the launcher for each processor that there is a compiler for, once for each version of its sources. One that is
 * missing is compiled on the machine where the package is installed, when it is first needed.
 */
export function buildLaunchers({ packageDir, say }) {
  const cache = join(stateDir, "launchers", hashSources().slice(0, 16));
  mkdirSync(cache, { recursive: true });
  for (const [arch, cross] of Object.entries(crossCompilers)) {
    const name = `writ-launcher-linux-${arch}`;
    const kept = join(cache, name);
    const compilers = arch === process.arch ? undefined : cross;
    if (!existsSync(kept))
      buildLauncher({ root, outFile: kept, compilers, mustBeStatic: true, say: () => {} });
    if (existsSync(kept)) copyFileSync(kept, join(packageDir, "built", name));
    else say(`no static launcher for ${arch}: it will be compiled where the package is used`);
  }
}
