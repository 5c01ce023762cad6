import { closeSync, openSync } from "node:fs";
import { basename } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { hasCode, isDiskFull, WritError } from "../../core/errors.ts";
import type { Clock } from "../clock/clock.ts";

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
 * Takes the lock on a file; returns null while this process or another holds it. The lock is a transaction on a small
 * database, because the kernel ends it however a process dies; a file with a process id would need guessing. The file
 * stays, because removing it would take the lock away from its holder.
 */
export function tryLockFile(path: string): FileLock | null {
  let database: DatabaseSync | undefined;
  try {
    makePrivate(path);
    // Without SQLite's own time-out, which would block this whole process, perhaps together with the holder.
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
    const held = database;
    return { release: () => held.isOpen && held.close() };
  } catch (error) {
    database?.close();
    if (sqliteCodeOf(error) === sqliteBusy) return null;
    if (sqliteCodeOf(error) === sqliteFull || isDiskFull(error)) {
      throw new WritError(
        "STORE_UNAVAILABLE",
        `the disk is full: ${basename(path)} cannot be locked, and nothing was changed; make room and try again`,
      );
    }
    throw new WritError("CONFIG_INVALID", `${path} cannot be locked: ${(error as Error).message}`, { path });
  }
}

/** Waits until the lock is free; returns null if it was not free in time. */
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
 * SQLite gives the journal beside a database the same mode. An existing file is not opened, because closing it would
 * end every lock that this process holds on it.
 */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
}

const sqliteBusy = 5;
const sqliteFull = 13;

function sqliteCodeOf(error: unknown): number | null {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) : null;
}
