import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { root, stateDir } from "../paths.mjs";
import { findProgram } from "./host-tools.mjs";
import { runCommand } from "./run-command.mjs";

const sourceDir = join(root, "test/kernel/probes");
const probeDir = join(stateDir, "kernel-probes");
const flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-static"];

/**
 * Compiles each test/kernel/probes/NAME.c to node_modules/.writ/kernel-probes/NAME. Without a compiler they are
 * absent, and the tests that need them say so.
 */
export function buildProbes(say) {
  const compiler = findProgram("cc");
  if (compiler === undefined)
    return say("no C compiler (cc): what needs a probe in C is reported as not capable");
  mkdirSync(probeDir, { recursive: true });
  for (const file of readdirSync(sourceDir).filter((name) => name.endsWith(".c"))) {
    const source = join(sourceDir, file);
    const probe = join(probeDir, file.slice(0, -".c".length));
    if (existsSync(probe) && statSync(probe).mtimeMs > statSync(source).mtimeMs) continue;
    // By rename, because another run may be using the old one.
    const fresh = `${probe}.${process.pid}`;
    try {
      runCommand(compiler, [...flags, "-o", fresh, source]);
      renameSync(fresh, probe);
    } finally {
      rmSync(fresh, { force: true });
    }
  }
}
