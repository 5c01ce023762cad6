import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../docs/page.ts";

const packages: Record<string, LockedPackage> = JSON.parse(
  readFileSync(join(root, "package-lock.json"), "utf8"),
).packages;

test("the lock file lists the packages of all platforms, not only those of the one it was written on", () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => findLocked(path, name) === undefined)
      .map((name) => `${path}: ${name}`),
  );
  expect(missing).toEqual([]);
});

test("the lock file names no registry", () => {
  const resolved = Object.entries(packages).filter(([, locked]) => locked.resolved !== undefined);
  expect(resolved.map(([path]) => path)).toEqual([]);
});

test("every locked package has a checksum, except optional programs for systems other than Linux", () => {
  const unchecked = Object.entries(packages).filter(([path, { integrity, inBundle }]) => {
    return path !== "" && integrity === undefined && inBundle !== true;
  });
  const forLinux = unchecked.filter(([, { optional, os = ["linux"] }]) => !optional || os.includes("linux"));
  expect(forLinux.map(([path]) => path)).toEqual([]);
});

test("npm ci accepts the lock file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "writ-lock-"));
  try {
    for (const name of ["package.json", "package-lock.json"])
      copyFileSync(join(root, name), join(folder, name));
    const args = ["ci", "--dry-run", "--offline", "--ignore-scripts", "--no-audit", "--loglevel=error"];
    expect(execFileSync("npm", args, { cwd: folder, encoding: "utf8" })).toMatch(/^added \d+ packages/m);
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** A package finds what it asks for in its own node_modules, or in those of the folders above. */
function findLocked(path: string, name: string): LockedPackage | undefined {
  const own = packages[path === "" ? `node_modules/${name}` : `${path}/node_modules/${name}`];
  if (own !== undefined || path === "") return own;
  const cut = path.lastIndexOf("/node_modules/");
  return findLocked(cut < 0 ? "" : path.slice(0, cut), name);
}

interface LockedPackage {
  integrity?: string;
  resolved?: string;
  inBundle?: boolean;
  optional?: boolean;
  os?: string[];
  optionalDependencies?: Record<string, string>;
}
