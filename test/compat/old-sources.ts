import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** Checks an older commit out into a folder of its own, with the packages of its lock file, and removes it afterwards. */
export async function withOldSources<T>(commit: string, use: (dir: string) => T | Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), "writ-old-"));
  try {
    const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 2 ** 28 });
    execFileSync("tar", ["-x", "-C", dir], { input: archive });
    if (hasSamePackages(dir)) symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
    else installInto(dir);
    return await use(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/**
 * Not `npm ci`: it refuses a lock file that lacks the optional packages of other platforms, and this keeps what is locked too. What
 * set-up makes, such as the dashboard, is that of today.
 */
function installInto(dir: string): void {
  execFileSync("npm", ["install", "--no-save", "--ignore-scripts"], { cwd: dir, stdio: "inherit" });
  symlinkSync(join(root, "node_modules/.writ"), join(dir, "node_modules/.writ"));
}

/** Whether what the old programs load is installed here, in the same versions. */
function hasSamePackages(dir: string): boolean {
  const current = lockedPackages(root);
  return Object.entries(lockedPackages(dir))
    .filter(([path, { dev, optional }]) => path !== "" && !dev && !optional)
    .every(([path, { version }]) => current[path]?.version === version);
}

type LockedPackage = { version?: string; dev?: boolean; optional?: boolean };

function lockedPackages(dir: string): Record<string, LockedPackage> {
  return JSON.parse(readFileSync(join(dir, "package-lock.json"), "utf8")).packages;
}
