import { randomBytes } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { hasCode } from "../../core/errors.ts";
import { type FileLock, tryLockFile } from "./file-lock.ts";

/** A private folder for what one command needs until it ends. */
export type WorkFolder = {
  path: string;
  /** The name of a temporary file in the folder of `file`, perhaps on another disk, which is removed with this folder. */
  temporaryBeside(file: string): string;
  remove(): void;
};

const lockName = "lock";
/** Holds the path of the temporary file that is elsewhere. */
const besideName = "beside";
const lockFiles: readonly string[] = [lockName, `${lockName}-journal`];
const idPattern = /^[0-9a-f]{12}$/;
const idLength = 12;
/** Another command that removes abandoned folders may have met this one before it was locked. */
const triesMax = 5;

/**
 * Makes a folder `PREFIX<id>` in `dir`, and removes those that killed commands have left under this prefix. It is locked until it is
 * removed; the kernel ends the lock however the command dies, so what is abandoned is known at once. Why: ADR 0135.
 */
export function makeWorkFolder(dir: string, prefix: string): WorkFolder {
  for (const path of findAbandoned(dir, prefix)) removeOrLeave(path);
  for (let tries = 0; tries < triesMax; tries++) {
    const id = randomBytes(6).toString("hex");
    const path = join(dir, `${prefix}${id}`);
    mkdirSync(path, { mode: 0o700 });
    const lock = lockNew(path);
    if (lock !== null) return folderOf(path, id, lock);
  }
  throw new Error(`no folder ${prefix}* could be kept in ${dir}`);
}

function lockNew(path: string): FileLock | null {
  try {
    return lockOf(path);
  } catch (error) {
    rmSync(path, { recursive: true, force: true });
    throw error;
  }
}

function folderOf(path: string, id: string, lock: FileLock): WorkFolder {
  return {
    path,
    temporaryBeside(file) {
      const temporary = join(dirname(file), `.${basename(file)}.${id}.tmp`);
      writeFileSync(join(path, besideName), temporary, { flag: "wx", mode: 0o600 });
      return temporary;
    },
    remove: () => removeHeld(path, lock),
  };
}

/** The folders of commands that have died. A folder that is not locked yet is none. */
export function findAbandoned(dir: string, prefix: string): string[] {
  return namesIn(dir)
    .filter((name) => name.startsWith(prefix) && idPattern.test(name.slice(prefix.length)))
    .map((name) => join(dir, name))
    .filter((path) => isOwn(path, "folder") && isOwn(join(path, lockName), "file") && !isLocked(path));
}

/** Removes it, if no command holds it; returns whether it did. */
export function removeAbandoned(path: string): boolean {
  const lock = lockOf(path);
  if (lock === null) return false;
  removeHeld(path, lock);
  return true;
}

function removeOrLeave(path: string): void {
  try {
    removeAbandoned(path);
  } catch {
    // It must not keep the present command from its work; the next start of a hub logs why it cannot be removed.
  }
}

function isLocked(path: string): boolean {
  try {
    const lock = lockOf(path);
    lock?.release();
    return lock === null;
  } catch {
    // On a read-only disk for example: it may be in use.
    return true;
  }
}

/** Null if another command has it, or has just removed it. */
function lockOf(path: string): FileLock | null {
  const file = join(path, lockName);
  try {
    const lock = tryLockFile(file);
    if (lock === null || existsSync(file)) return lock;
    lock.release();
    return null;
  } catch (error) {
    if (existsSync(path)) throw error;
    return null;
  }
}

/** The lock last: a removal that is cut short is continued by the next command. Links are removed and not followed. */
function removeHeld(path: string, lock: FileLock): void {
  try {
    removeBeside(path);
    for (const name of namesIn(path))
      if (!lockFiles.includes(name)) rmSync(join(path, name), { recursive: true, force: true });
  } finally {
    lock.release();
  }
  for (const name of lockFiles) rmSync(join(path, name), { force: true });
  removeEmpty(path);
}

/** Only a file with the name that `temporaryBeside` gives, whatever the note says. */
function removeBeside(path: string): void {
  const note = join(path, besideName);
  if (!isOwn(note, "file")) return;
  const temporary = readFileSync(note, "utf8");
  const id = path.slice(-idLength);
  const isOurs = basename(temporary).startsWith(".") && temporary.endsWith(`.${id}.tmp`);
  if (isOurs && isOwn(temporary, "file")) rmSync(temporary, { force: true });
}

function removeEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    // Another command that met it unlocked may have removed it, or have locked it to do so.
    if (!hasCode(error, "ENOENT", "ENOTEMPTY")) throw error;
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    // A folder that does not exist or cannot be read has nothing that we could remove.
    return [];
  }
}

/** Not a link, and not what another user has put there. */
function isOwn(path: string, kind: "folder" | "file"): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  const isKind = kind === "folder" ? found?.isDirectory() : found?.isFile();
  return isKind === true && (process.getuid === undefined || found?.uid === process.getuid());
}
