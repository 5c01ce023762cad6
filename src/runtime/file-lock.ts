import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { hasCode, WritError } from "../core/errors.ts";
import type { Clock } from "./clock.ts";

export type FileLock = { release(): void };

type LockWait = {
  clock: Clock;
  waitMs: number;
  signal?: AbortSignal | undefined;
  /** Called once, when somebody else holds the lock. */
  onWait?: (() => void) | undefined;
};

const lookMs = 50;

/**
 * Takes the lock on a file, or gives null while somebody holds it, in this process or in another. The lock is a
 * transaction on a small database, because the kernel ends it when a process dies in whatever way; a file with a
 * process id would need guessing. The file stays: whoever removed it would take the lock away from its holder.
 */
export function tryLockFile(path: string): FileLock | null {
  let database: DatabaseSync | undefined;
  try {
    makePrivate(path);
    // Without a time-out of its own, which would block this whole process, perhaps with the holder in it.
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
    const held = database;
    return { release: () => held.isOpen && held.close() };
  } catch (error) {
    database?.close();
    if (isBusy(error)) return null;
    throw new WritError("CONFIG_INVALID", `${path} cannot be locked: ${(error as Error).message}`, { path });
  }
}

/** Waits until the lock is free; null when it was not within the time. */
export async function lockFile(path: string, wait: LockWait): Promise<FileLock | null> {
  const endsAtMs = wait.clock.monotonicMs() + wait.waitMs;
  let lock = tryLockFile(path);
  if (lock === null) wait.onWait?.();
  while (lock === null && wait.clock.monotonicMs() < endsAtMs) {
    await wait.clock.sleep(lookMs, wait.signal);
    lock = tryLockFile(path);
  }
  return lock;
}

/**
 * SQLite gives the journal beside a database the same mode. A file that is there is not opened: to close it again would
 * end every lock that this process has on it.
 */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
}

const sqliteBusy = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && Number(error.errcode) === sqliteBusy;
}
