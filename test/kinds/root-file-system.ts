import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

export const checkout = join(import.meta.dirname, "../..");

/** A shell, Python, and what Node needs; our Node and our programs are mounted. */
const packages = ["dash", "coreutils", "sed", "procps", "libstdc++6", "libatomic1", "python3"];

export type RootFileSystem = { path: string; obstacle: null } | { path: ""; obstacle: string };

/** A Debian for the containers of the tests. It is made once, and is not changed after that. */
export function rootFileSystem(): RootFileSystem {
  const path = join(checkout, "node_modules/.writ/test-root-file-system");
  const obstacle = existsSync(path) ? toolObstacle() : (toolObstacle() ?? make(path));
  return obstacle === null ? { path, obstacle } : { path: "", obstacle };
}

function toolObstacle(): string | null {
  if (process.getuid?.() !== 0) return "not root";
  if (!realpathSync(join(checkout, "node_modules/.writ/node")).startsWith(checkout))
    return "the Node of set-up is outside of the checkout";
  return hasTool("mmdebstrap") ? null : "no mmdebstrap";
}

export function hasTool(name: string): boolean {
  return spawnSync("which", [name]).status === 0;
}

/** Test files may make it at the same time; the first one that is complete counts. */
function make(path: string): string | null {
  const draft = `${path}.${process.pid}`;
  const suite = /^VERSION_CODENAME=(\w+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "stable";
  const sources = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"]
    .filter(existsSync)
    .slice(0, 1);
  const args = ["--quiet", "--variant=extract", `--include=${packages.join(",")}`, suite, draft, ...sources];
  const { status, stderr } = spawnSync("mmdebstrap", args, { encoding: "utf8", timeout: 200_000 });
  if (status !== 0) {
    rmSync(draft, { recursive: true, force: true });
    return `mmdebstrap failed: ${stderr.trim().split("\n").at(-1)}`;
  }
  for (const dir of [
    "proc",
    "sys",
    "root",
    "run",
    "tmp",
    "usr/local/bin",
    "var/lib/writ-agent",
    "var/log/writ-agent",
    checkout,
  ])
    mkdirSync(join(draft, dir), { recursive: true });
  symlinkSync(join(checkout, "bin/writ-agent"), join(draft, "usr/local/bin/writ-agent"));
  try {
    renameSync(draft, path);
  } catch {
    rmSync(draft, { recursive: true, force: true });
  }
  return null;
}
