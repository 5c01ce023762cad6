import type { Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isPathIn } from "../../../core/path-rules.ts";
import { cageIds } from "../../../sandbox/launch-plan.ts";
import { RunFailure } from "../../runner.ts";
import { listOf, shown } from "../changes/find-changes.ts";
import type { CheckedPaths } from "./check-paths.ts";

/** As many as make the point; a repository may have hundreds of thousands. */
const lookedAtMax = 20_000;

/**
 * Refuses a repository in which an agent could not even start. An agent of a worker that is root is somebody else than the
 * owner of the files, and outside of what may change it reads only what everybody may read. Why: ADR 0097.
 */
export async function refuseClosed({ root, allowed }: CheckedPaths): Promise<void> {
  const ways = allowed.filter(({ found }) => found !== null).flatMap(({ path }) => dirsAbove(path));
  for (const dir of new Set(["", ...ways])) {
    const path = join(root, dir);
    const status = await lstat(path).catch(() => null);
    if (status === null || isOpen(status)) continue;
    const mode = (status.mode & 0o777).toString(8).padStart(4, "0");
    const reason = `the agent cannot read ${path} (mode ${mode}), because only its owner may; run: chmod o+rx ${path}`;
    throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
  }
}

/** What an agent that failed could not read, as the end of a sentence; empty if there is nothing of that kind. */
export async function closedFilesNote({ root, allowed, hidden }: CheckedPaths): Promise<string> {
  const closed: string[] = [];
  const dirs = [""];
  const isElsewhere = (path: string): boolean =>
    !hidden.includes(path) && !allowed.some((dir) => isPathIn(path, dir.path));
  let left = lookedAtMax;
  for (const dir of dirs) {
    for (const entry of await readdir(join(root, dir), { withFileTypes: true }).catch(() => [])) {
      const path = dir === "" ? entry.name : `${dir}/${entry.name}`;
      if (entry.isSymbolicLink() || !isElsewhere(path) || left-- <= 0) continue;
      const status = await lstat(join(root, path)).catch(() => null);
      if (status === null) continue;
      if (!isOpen(status)) closed.push(shown(path));
      else if (entry.isDirectory() && entry.name !== ".git") dirs.push(path);
    }
  }
  if (closed.length === 0) return "";
  return `; the agent could not read these, because only their owner may: ${listOf(closed)}`;
}

function isOpen(status: Stats): boolean {
  const { uid, gid, mode } = status;
  const needed = status.isDirectory() ? 0o5 : 0o4;
  const bits = uid === cageIds.uid ? mode >> 6 : gid === cageIds.gid ? mode >> 3 : mode;
  return (bits & needed) === needed;
}

function dirsAbove(path: string): string[] {
  const above = dirname(path);
  return above === "." ? [] : [...dirsAbove(above), above];
}
