import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export const checkout = join(import.meta.dirname, "../..");

export type DebianRecipe = {
  /** Becomes part of the name of its folder. */
  name: string;
  variant: "extract" | "minbase";
  packages: readonly string[];
  /** Shell commands that finish it; `$root` is its folder and `$checkout` that of the project. */
  finish: string;
};

/** Under a lock, because several test files may need it at the same time: one makes it, and the others wait for that. */
const script = `
set -e
[ -e "$place" ] && exit
rm -rf "$root"
mmdebstrap "$@" "$root" $sources
eval "$finish"
mv -T "$root" "$place"
`;
/** On a machine that does much else. */
const makeMs = 500_000;

export type MadeDebian = { path: string; obstacle: null } | { path: ""; obstacle: string };

/** The files of a Debian of the same release as this host's. Each recipe is made once for a checkout and not changed after that. */
export function makeDebian(recipe: DebianRecipe): MadeDebian {
  const obstacle = toolObstacle();
  if (obstacle !== null) return { path: "", obstacle };
  const key = createHash("sha256").update(JSON.stringify(recipe)).digest("hex").slice(0, 16);
  const place = join(checkout, "node_modules/.writ/debians", `${recipe.name}-${key}`);
  mkdirSync(dirname(place), { recursive: true });
  const complaint = existsSync(place) ? "" : make(recipe, place);
  if (existsSync(place)) return { path: place, obstacle: null };
  return { path: "", obstacle: `a Debian could not be made: ${complaint || "it took too long"}` };
}

/** The last line that it complained with. */
function make({ variant, packages, finish }: DebianRecipe, place: string): string {
  const suite = /^VERSION_CODENAME=(\w+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "stable";
  const [sources = ""] = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"].filter(
    existsSync,
  );
  const include = packages.length === 0 ? [] : [`--include=${packages.join(",")}`];
  const words = ["--quiet", `--variant=${variant}`, ...include, suite];
  const { stderr } = spawnSync("flock", [`${place}.lock`, "sh", "-c", script, "sh", ...words], {
    env: { ...process.env, place, root: `${place}.draft`, checkout, sources, finish },
    encoding: "utf8",
    timeout: makeMs,
  });
  return stderr.trim().split("\n").at(-1)!;
}

function toolObstacle(): string | null {
  if (process.getuid?.() !== 0) return "not root";
  return hasTool("mmdebstrap") ? null : "no mmdebstrap";
}

export function hasTool(name: string): boolean {
  return spawnSync("which", [name]).status === 0;
}
