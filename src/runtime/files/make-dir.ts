import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { hasCode } from "../../core/errors.ts";

/**
 * Makes a directory, and those above it that are missing, for a path that somebody chose. Node's own
 * `recursive` never returns where the kernel answers ENOENT although the directory above is there, as it does in /proc.
 */
export function makeDir(path: string, mode = 0o700): void {
  makeFrom(resolve(path), mode);
}

function makeFrom(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
    return;
  } catch (error) {
    if (isDirectory(path)) return;
    const above = dirname(path);
    if (!hasCode(error, "ENOENT") || isDirectory(above)) throw error;
    makeFrom(above, mode);
  }
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have made it in the meantime.
    if (!isDirectory(path)) throw error;
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // There is nothing at this path.
    return false;
  }
}
