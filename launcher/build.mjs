import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const ownCompilers = ["cc", "gcc", "clang"];
const flags = [
  "-std=c11",
  "-O2",
  "-Wall",
  "-Wextra",
  "-Werror",
  "-fno-plt",
  "-D_FORTIFY_SOURCE=2",
  "-fstack-protector-strong",
];
// A compiler that takes longer than this for 30 small files hangs.
const timeoutMs = 120_000;

/**
 * Builds the launcher of the checkout at `root` into `outFile` and returns its path, or null when this host cannot build
 * it: then it prints one line on stderr, and jobs run without a cage, or not at all if the worker is root. A compiler
 * that fails is an error. The launcher is linked statically where the C library allows it, so that it loads no
 * libraries of the host.
 *
 * `compilers` are those to try, which may build for another processor; with `mustBeStatic` a launcher that is not counts as
 * one that cannot be built.
 *
 * @param {{
 *   root: string, outFile: string, say?: (line: string) => void, compilers?: string[], mustBeStatic?: boolean,
 * }} options
 * @returns {string | null}
 */
export function buildLauncher(options) {
  const { root, outFile, say = sayOnStderr, compilers = ownCompilers, mustBeStatic = false } = options;
  if (process.platform !== "linux") return nothing(say, "it runs only on Linux");
  if (process.arch !== "x64" && process.arch !== "arm64")
    return nothing(say, `it has no seccomp table for ${process.arch}; use x64 or arm64`);
  const compiler = compilers.find(
    (name) => spawnSync(name, ["--version"], { timeout: timeoutMs }).status === 0,
  );
  if (compiler === undefined)
    return nothing(say, `no C compiler found (tried ${compilers.join(", ")}); install gcc and start again`);

  mkdirSync(dirname(outFile), { recursive: true });
  const scratch = mkdtempSync(join(dirname(outFile), ".launcher-"));
  try {
    const isStatic = canLinkStatically(compiler, scratch);
    if (mustBeStatic && !isStatic) return nothing(say, `${compiler} cannot link it statically`);
    const link = isStatic ? ["-static"] : [];
    const built = join(scratch, "writ-launcher");
    const folder = join(root, "launcher");
    compile(compiler, [...flags, ...link, "-I", folder, "-o", built, ...sourcesIn(folder)]);
    // Renamed into place: a launcher that runs keeps the file it was started from, and no process sees half a file.
    renameSync(built, outFile);
    return outFile;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function sourcesIn(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((path) => path.endsWith(".c") && !path.startsWith("test/"))
    .sort()
    .map((path) => join(folder, path));
}

function canLinkStatically(compiler, scratch) {
  const source = join(scratch, "empty.c");
  writeFileSync(source, "int main(void) { return 0; }\n");
  return (
    spawnSync(compiler, ["-static", "-o", join(scratch, "empty"), source], { timeout: timeoutMs }).status ===
    0
  );
}

function compile(compiler, args) {
  const result = spawnSync(compiler, args, { encoding: "utf8", timeout: timeoutMs });
  if (result.status !== 0)
    throw new Error(`${compiler} could not build the launcher:\n${result.stderr || result.error}`);
}

function nothing(say, why) {
  say(
    `the launcher was not built: ${why}; without it a worker that runs as root refuses process jobs, and any other runs them without a cage`,
  );
  return null;
}

function sayOnStderr(line) {
  process.stderr.write(`writ: ${line}\n`);
}
