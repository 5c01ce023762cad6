import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf, hasCode, isDiskFull, WritError } from "../../core/errors.ts";

// Keys, tokens and settings are small; a larger file was put there by mistake.
const fileBytesMax = 1024 * 1024;
const othersBits = 0o077;

/**
 * Writes a file that only its owner can read. Readers see the old or the new content, never a part of it, and the new
 * content survives a power failure once this returns.
 */
export async function writePrivateFile(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = temporaryBeside(path);
  try {
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    // The first error is the one to report; a draft may not exist at all.
    await unlink(temporary).catch(() => {});
    throw asFullDisk(error, path);
  }
  // A file name is durable only when its directory is synced.
  const directory = await open(dirname(path), "r");
  await directory.sync().finally(() => directory.close());
}

/** Like `writePrivateFile`, for callers that must not be interrupted between what they read and what they write. */
export function writePrivateFileSync(path: string, content: string): void {
  placeWhole(path, content, (temporary) => renameSync(temporary, path));
}

/**
 * Creates a private file completely or not at all; returns false if it already exists. It is put in place by a link,
 * because a rename would replace what another process wrote a moment ago.
 */
export function createPrivateFileSync(path: string, content: string): boolean {
  try {
    placeWhole(path, content, (temporary) => linkSync(temporary, path));
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

export function removeFileSync(path: string): void {
  unlinkSync(path);
  syncDirectory(dirname(path));
}

function placeWhole(path: string, content: string, place: (temporary: string) => void): void {
  const temporary = temporaryBeside(path);
  try {
    writeFileSync(temporary, content, { flag: "wx", mode: 0o600, flush: true });
    place(temporary);
  } catch (error) {
    throw asFullDisk(error, path);
  } finally {
    rmSync(temporary, { force: true });
  }
  syncDirectory(dirname(path));
}

/** Said by name, and not as an error of the hub: only somebody who makes room can help. */
function asFullDisk(error: unknown, path: string): unknown {
  if (!isDiskFull(error)) return error;
  const message = `the disk is full: ${basename(path)} was not written, and nothing was changed; make room and try again`;
  return new WritError("STORE_UNAVAILABLE", message, { reason: codeOf(error) });
}

/** The name of a file that is renamed to `path` when it is complete. */
export function temporaryBeside(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
}

/** Whether it has a name that `temporaryBeside` gives. */
export function isTemporaryFile(name: string): boolean {
  return /^\..+\.[0-9a-f]{12}\.tmp$/.test(name);
}

function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** The text of a private file, or null if there is none. Refuses a file that others can access. */
export async function readPrivateFile(path: string): Promise<string | null> {
  return readSmallFile(path, { mustBePrivate: true });
}

/** Like `readPrivateFile`; a file that may be public is read with `mustBePrivate: false`. */
export async function readSmallFile(path: string, rules: { mustBePrivate: boolean }): Promise<string | null> {
  const handle = await openForReading(path);
  if (handle === null) return null;
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new WritError("CONFIG_INVALID", `${path} is not a regular file`);
    if (rules.mustBePrivate) refuseOthers(path, stat.mode);
    if (stat.size > fileBytesMax) {
      throw new WritError(
        "CONFIG_INVALID",
        `${path} has ${stat.size} bytes; at most ${fileBytesMax} are allowed`,
      );
    }
    return decodeUtf8(path, await handle.readFile());
  } finally {
    await handle.close();
  }
}

async function openForReading(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    throw new WritError("CONFIG_INVALID", `${path} cannot be read: ${codeOf(error)}`);
  }
}

function refuseOthers(path: string, mode: number): void {
  if ((mode & othersBits) === 0) return;
  const found = (mode & 0o777).toString(8).padStart(4, "0");
  throw new WritError(
    "CONFIG_INVALID",
    `other users can access ${path} (mode ${found}); run: chmod 600 ${path}`,
  );
}

function decodeUtf8(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new WritError("CONFIG_INVALID", `${path} is not UTF-8 text`);
  }
}
