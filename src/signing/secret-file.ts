import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { WritError } from "../core/errors.ts";

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
const OTHERS_MASK = 0o077;
const LOCK_FILE = "ring.lock";

/** Key files are a few hundred bytes; a ring of many years stays far below this. */
const MAX_FILE_BYTES = 1024 * 1024;

/** Makes the directory when it is not there, and refuses one that others may look into. */
export function openSecretDirectory(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: DIRECTORY_MODE });
  if ((statSync(dir).mode & OTHERS_MASK) !== 0) throw tooOpen(dir, "700");
}

/** Reads a file that nobody else may read or write, or null when there is none. */
export function readSecretFile(dir: string, name: string): string | null {
  const path = join(dir, name);
  const file = openExisting(path);
  if (file === null) return null;
  try {
    // The open descriptor is asked, not the path, so the file that is checked is the file that is read.
    const status = fstatSync(file);
    if (!status.isFile() || status.size > MAX_FILE_BYTES) {
      throw new WritError("KEY_REJECTED", `${path} is not a small regular file.`, { path });
    }
    if ((status.mode & OTHERS_MASK) !== 0) throw tooOpen(path, "600");
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/**
 * Creates a file whole or not at all, and answers false when it was there already. A link instead of a rename
 * puts it in place, because a rename would replace what another hub wrote a moment ago.
 */
export function createSecretFile(dir: string, name: string, content: string): boolean {
  const temporary = join(dir, `.${name}.${randomUUID()}.tmp`);
  writeDurably(temporary, content);
  try {
    linkSync(temporary, join(dir, name));
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    unlinkSync(temporary);
  }
  syncDirectory(dir);
  return true;
}

/** Puts new content in the place of old. A reader, or a crash, finds the one or the other and never a part. */
export function replaceSecretFile(dir: string, name: string, content: string): void {
  const temporary = join(dir, `.${name}.${randomUUID()}.tmp`);
  writeDurably(temporary, content);
  renameSync(temporary, join(dir, name));
  syncDirectory(dir);
}

/** Differs whenever the file was replaced or written to; null when there is none. */
export function stampOf(dir: string, name: string): string | null {
  const status = statSync(join(dir, name), { bigint: true, throwIfNoEntry: false });
  return status === undefined ? null : `${status.ino} ${status.mtimeNs} ${status.size}`;
}

/** A holder needs milliseconds; whoever is older than this was killed while it held the lock. */
const STALE_LOCK_MS = 60_000;

/** Does something that no other hub on the same directory does at the same time. Nobody waits: it is refused. */
export function withDirectoryLock<T>(dir: string, act: () => T): T {
  const lock = join(dir, LOCK_FILE);
  const held = statSync(lock, { throwIfNoEntry: false });
  if (held !== undefined && Date.now() - held.mtimeMs > STALE_LOCK_MS) unlinkSync(lock);
  if (!createSecretFile(dir, LOCK_FILE, `${process.pid}\n`)) {
    throw new WritError("STATE_CONFLICT", "another hub is changing the keys at this moment; try again", {
      dir,
    });
  }
  try {
    return act();
  } finally {
    removeSecretFile(dir, LOCK_FILE);
  }
}

export function removeSecretFile(dir: string, name: string): void {
  unlinkSync(join(dir, name));
  syncDirectory(dir);
}

function openExisting(path: string): number | null {
  try {
    // Without O_NONBLOCK a planted FIFO would hang the start.
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    if (codeOf(error) === "ELOOP")
      throw new WritError("KEY_REJECTED", `${path} is a symbolic link.`, { path });
    throw error;
  }
}

function writeDurably(path: string, content: string): void {
  const file = openSync(path, "wx", FILE_MODE);
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A name is only durable once its directory is. */
function syncDirectory(dir: string): void {
  const directory = openSync(dir, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

function tooOpen(path: string, mode: string): WritError {
  return new WritError("KEY_REJECTED", `${path} is open to other users; run: chmod ${mode} ${path}`, {
    path,
  });
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
