import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findPostgres } from "../../test/support/postgres-cluster.ts";

const packages = join(import.meta.dirname, "packages");
const root = join(import.meta.dirname, "../..");

/** A folder of its own: the project neither needs these packages nor ships them. */
export const peersFolder = join(root, "node_modules/.writ/bench-peers");

const programs = {
  redis: { debian: "redis-server", find: () => onPath("redis-server") },
  postgres: { debian: "postgresql", find: findPostgres },
  wrk: { debian: "wrk", find: () => onPath("wrk") },
  bubblewrap: { debian: "bubblewrap", find: () => onPath("bwrap") },
} as const;

export type Program = keyof typeof programs;

/** Installs what is missing of the packages and programs, or ends with one line that says what to install. */
export function needPeers(names: readonly Program[]): void {
  needPrograms(names);
  needPackages();
}

export function pathOf(name: Program): string {
  const path = programs[name].find();
  if (path === undefined) throw new Error(`${programs[name].debian} is not installed`);
  return path;
}

export function needPrograms(names: readonly Program[]): void {
  const missing = names.filter((name) => programs[name].find() === undefined);
  if (missing.length === 0) return;
  const wanted = missing.map((name) => programs[name].debian);
  const isRoot = process.getuid?.() === 0;
  if (isRoot && onPath("apt-get") !== undefined) {
    console.error(`bench: installing ${wanted.join(", ")} from Debian`);
    // With run level 1 a package does not start its service: the benchmark starts instances of its own.
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
    spawnSync("apt-get", ["update", "-qq"], { env, stdio: "ignore" });
    spawnSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...wanted], {
      env,
      stdio: ["ignore", "ignore", "inherit"],
    });
  }
  if (missing.some((name) => programs[name].find() === undefined)) {
    console.error(`bench: --peers needs ${wanted.join(", ")}: apt-get install ${wanted.join(" ")}`);
    process.exit(1);
  }
}

function needPackages(): void {
  const lock = "package-lock.json";
  const isSame = (file: string) =>
    existsSync(join(peersFolder, file)) &&
    readFileSync(join(peersFolder, file), "utf8") === readFileSync(join(packages, file), "utf8");
  if (isSame(lock) && existsSync(join(peersFolder, "node_modules/.package-lock.json"))) return;
  console.error("bench: installing the peers' packages");
  mkdirSync(peersFolder, { recursive: true });
  copyFileSync(join(packages, "package.json"), join(peersFolder, "package.json"));
  copyFileSync(join(packages, lock), join(peersFolder, lock));
  // Not `npm ci`: it refuses a lock file that lacks the optional binaries of other platforms.
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status } = spawnSync("npm", ["install", "--no-save", ...flags], {
    cwd: peersFolder,
    stdio: ["ignore", 2, "inherit"],
  });
  if (status === 0) return;
  console.error(`bench: npm could not install the peers in ${peersFolder}; see its message above`);
  process.exit(1);
}

function onPath(program: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(":");
  return folders.map((folder) => join(folder, program)).find(existsSync);
}
