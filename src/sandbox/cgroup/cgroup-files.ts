import { closeSync, constants, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

/**
 * These are not files on a disk but calls to the kernel, answered in microseconds: a trip through the thread pool for
 * each of them would take ten times as long.
 */
export function readCgroupFile(cgroup: string, file: string): string {
  return readFileSync(join(cgroup, file), "utf8").trim();
}

/** Null if the kernel does not have the file. */
export function tryReadCgroupFile(cgroup: string, file: string): string | null {
  try {
    return readCgroupFile(cgroup, file);
  } catch {
    // The kernel does not have the file, or the cgroup is gone.
    return null;
  }
}

/** Throws with the kernel's code if it refuses the value. */
export function writeCgroupFile(cgroup: string, file: string, value: string): void {
  // Neither created nor truncated: if the file does not exist, ENOENT says so.
  const fd = openSync(join(cgroup, file), constants.O_WRONLY);
  try {
    writeSync(fd, value);
  } finally {
    closeSync(fd);
  }
}

/** One number of a file with "name number" lines, such as memory.events or cpu.stat. */
export function countIn(text: string | null, name: string): number | null {
  const value = new RegExp(`^${name} (\\d+)$`, "m").exec(text ?? "")?.[1];
  return value === undefined ? null : Number(value);
}

export function wordsIn(text: string | null): string[] {
  return (text ?? "").split(/\s+/).filter((word) => word !== "");
}

export function childCgroups(cgroup: string): string[] {
  const entries = readdirSync(cgroup, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => join(cgroup, entry.name));
}
