import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
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

/** Under a lock, because several test files need it at the same time: one makes it, and the others wait for that. */
const script = `
set -e
[ -e "$root" ] && exit
rm -rf "$root".draft
mmdebstrap "$@" "$root".draft $sources
for dir in proc sys root run tmp usr/local/bin var/lib/writ-agent var/log/writ-agent "$checkout"; do
  mkdir -p "$root.draft/$dir"
done
ln -s "$checkout/bin/writ-agent" "$root.draft/usr/local/bin/writ-agent"
mv -T "$root.draft" "$root"
`;
/** On a machine that does much else. */
const makeMs = 500_000;

function make(path: string): string | null {
  const suite = /^VERSION_CODENAME=(\w+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "stable";
  const [sources = ""] = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"].filter(
    existsSync,
  );
  const options = ["--quiet", "--variant=extract", `--include=${packages.join(",")}`, suite];
  const { stderr } = spawnSync("flock", [`${path}.lock`, "sh", "-c", script, "sh", ...options], {
    env: { ...process.env, root: path, checkout, sources },
    encoding: "utf8",
    timeout: makeMs,
  });
  if (existsSync(path)) return null;
  return `mmdebstrap failed: ${stderr.trim().split("\n").at(-1) || "it took too long"}`;
}
