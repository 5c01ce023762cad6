import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { withOldSources } from "./old-sources.ts";

const root = join(import.meta.dirname, "../..");

/** The last version: 0.1.0. A release puts its tag or its commit here. Why: ADR 0078. */
const lastVersion = "7137a49";

/** The programs and the libraries of one version. `env` has the pinned Node as `node`. */
export type Version = { program(name: string): string; worker: string; env: { PATH: string } };

const env = { PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}` };

export const today: Version = {
  program: (name) => join(root, "bin", name),
  worker: join(root, "src/worker/index.ts"),
  env,
};

/** Why the last version cannot be built here, or null. */
export function lastVersionObstacle(): string | null {
  const found = spawnSync("git", ["cat-file", "-e", `${lastVersion}^{commit}`], { cwd: root });
  return found.status === 0 ? null : `git has no commit ${lastVersion} here`;
}

/** The package of the last version, made from git by its own scripts and unpacked; the second call finds it. */
export async function findLastVersion(): Promise<Version> {
  const place = join(root, "node_modules/.writ/versions", lastVersion);
  if (!existsSync(place)) await buildInto(place);
  return {
    program: (name) => join(place, "package/bin", `${name}.js`),
    worker: join(place, "package/lib/worker.js"),
    env,
  };
}

/** Made aside and renamed, so that no reader finds half of it. */
async function buildInto(place: string): Promise<void> {
  const draft = `${place}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  await withOldSources(lastVersion, (dir) => {
    leaveOut(dir);
    const args = [join(dir, "scripts/pack/make-package.mjs"), draft];
    const tarball = execFileSync(process.execPath, args, { cwd: dir, encoding: "utf8" }).trim();
    execFileSync("tar", ["-xzf", tarball, "-C", draft]);
  });
  try {
    renameSync(draft, place);
  } catch {
    rmSync(draft, { recursive: true });
  }
}

/** What no program here needs, and takes most of the time: declarations, and a launcher for another processor. */
function leaveOut(dir: string): void {
  writeFileSync(join(dir, "scripts/pack/declarations.mjs"), "export function declareTypes() {}\n");
  const file = join(dir, "scripts/pack/launchers.mjs");
  const text = readFileSync(file, "utf8");
  const all = "Object.entries(crossCompilers)";
  if (!text.includes(all)) throw new Error(`${file} does not list processors as it did`);
  writeFileSync(file, text.replace(all, `${all}.filter(([arch]) => arch === process.arch)`));
}
