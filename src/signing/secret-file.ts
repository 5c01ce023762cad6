import { closeSync, constants, fstatSync, mkdirSync, openSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { hasCode, WritError } from "../core/errors.ts";
import { tryLockFile } from "../runtime/files/file-lock.ts";

const othersMask = 0o077;
const lockName = "keys.lock";
/** Key files are a few hundred bytes; a ring of many years stays far below this. */
const fileBytesMax = 1024 ** 2;

/** Creates the directory if it does not exist, and refuses one that others can access. */
export function openSecretDirectory(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if ((statSync(dir).mode & othersMask) !== 0) throw tooOpen(dir, "700");
}

/** Reads a file that only its owner may read or write; null if there is none. */
export function readSecretFile(dir: string, name: string): string | null {
  const path = join(dir, name);
  const file = openExisting(path);
  if (file === null) return null;
  try {
    // The open descriptor is checked, not the path, so the file that is checked is the file that is read.
    const status = fstatSync(file);
    if (!status.isFile() || status.size > fileBytesMax) {
      throw new WritError("KEY_REJECTED", `${path} is not a small regular file`, { path });
    }
    if ((status.mode & othersMask) !== 0) throw tooOpen(path, "600");
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/** Changes whenever the file is replaced or written; null if there is none. */
export function stampOf(dir: string, name: string): string | null {
  const status = statSync(join(dir, name), { bigint: true, throwIfNoEntry: false });
  return status === undefined ? null : `${status.ino} ${status.mtimeNs} ${status.size}`;
}

/** Runs a function while no other hub does the same on this directory. A second caller does not wait; it is refused. */
export function withDirectoryLock<T>(dir: string, act: () => T): T {
  const lock = tryLockFile(join(dir, lockName));
  if (lock === null) {
    throw new WritError("STATE_CONFLICT", "another hub is changing the keys; try again", {
      dir,
    });
  }
  try {
    return act();
  } finally {
    lock.release();
  }
}

function openExisting(path: string): number | null {
  try {
    // Without O_NONBLOCK a planted FIFO would hang the start.
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    if (hasCode(error, "ELOOP")) throw new WritError("KEY_REJECTED", `${path} is a symbolic link`, { path });
    throw error;
  }
}

function tooOpen(path: string, mode: string): WritError {
  return new WritError("KEY_REJECTED", `other users can access ${path}; run: chmod ${mode} ${path}`, {
    path,
  });
}
