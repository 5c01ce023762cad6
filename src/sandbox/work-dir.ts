import { closeSync, constants, fchownSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { cageIds } from "./launch-plan.ts";

/** What a worker itself puts into a fresh directory is a handful of files; more means that it is not fresh. */
const entriesMax = 10_000;
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * Gives a directory, and what the worker has put into it, to the user that jobs run as. Through descriptors and never
 * through a link: whatever a name points to belongs to somebody else. Synchronous, because it is three calls for each
 * of two or three entries that were made just now and are in memory.
 */
export function ownWorkDir(dir: string): void {
  giveAway(dir, O_DIRECTORY);
  let left = entriesMax;
  // Grows while it is walked; each directory is entered once.
  const dirs = [dir];
  for (const current of dirs) {
    for (const entry of readdirSync(current, { withFileTypes: true })) {
      if (left-- === 0) throw new Error(`${dir} holds more than ${entriesMax} entries`);
      const path = join(current, entry.name);
      if (entry.isSymbolicLink() || !(entry.isFile() || entry.isDirectory())) continue;
      giveAway(path, entry.isDirectory() ? O_DIRECTORY : 0);
      if (entry.isDirectory()) dirs.push(path);
    }
  }
}

function giveAway(path: string, flags: number): void {
  const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | flags);
  try {
    fchownSync(fd, cageIds.uid, cageIds.gid);
  } finally {
    closeSync(fd);
  }
}
