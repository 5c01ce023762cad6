import type { Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isPathIn } from "../../../core/path-rules.ts";
import { cageIds } from "../../../sandbox/launch-plan.ts";
import { RunFailure } from "../../runner.ts";
import { listOf, shown } from "../changes/find-changes.ts";
import type { CheckedPaths } from "./check-paths.ts";

/** The most files that are examined; a repository may have hundreds of thousands. */
const examinedMax = 20_000;

/**
 * Refuses a repository in which an agent could not even start. The agent of a root worker is another user than the
 * owner of the files, and outside of the allowed paths it reads only files that every user may read. Why: ADR 0097.
 */
export async function refuseClosed({ root, allowed }: CheckedPaths): Promise<void> {
  const ways = allowed.filter(({ found }) => found !== null).flatMap(({ path }) => dirsAbove(path));
  for (const dir of new Set(["", ...ways])) {
    const path = join(root, dir);
    // What cannot be examined is not reported here; the agent's own error names it.
    const status = await lstat(path).catch(() => null);
    if (status === null || isOpen(status)) continue;
    const mode = (status.mode & 0o777).toString(8).padStart(4, "0");
    const reason = `the agent cannot read ${path} (mode ${mode}), because only its owner may; run: chmod o+rx ${path}`;
    throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
  }
}

/** The files that a failed agent could not read, as the end of a sentence; empty if there are none. */
export async function closedFilesNote({ root, allowed, hidden }: CheckedPaths): Promise<string> {
  const closed: string[] = [];
  const dirs = [""];
  const isElsewhere = (path: string): boolean =>
    !hidden.includes(path) && !allowed.some((dir) => isPathIn(path, dir.path));
  let left = examinedMax;
  for (const dir of dirs) {
    // What cannot be listed is not reported here; the agent's own error names it.
    for (const entry of await readdir(join(root, dir), { withFileTypes: true }).catch(() => [])) {
      const path = dir === "" ? entry.name : `${dir}/${entry.name}`;
      if (entry.isSymbolicLink() || !isElsewhere(path) || left-- <= 0) continue;
      // Removed since the directory was listed.
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
