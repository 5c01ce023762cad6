import { chmodSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { WritError } from "../../core/errors.ts";
import { systemClock } from "../../runtime/clock.ts";
import { certPaths } from "./cert-paths.ts";

/** Making a few certificates takes well under a second. */
const waitMs = 10_000;
const lookMs = 50;

/**
 * One at a time changes the certificates of a home: a hub that starts and a command beside it would otherwise make
 * two authorities, and of two revocations at once one could be lost. The kernel frees the lock with its process.
 */
export async function withCertsLock<T>(home: string, act: () => Promise<T>): Promise<T> {
  const { folder, lock } = certPaths(home);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const database = await takeLock(lock);
  if (database === null) {
    throw new WritError("CONFIG_INVALID", `another program is changing the certificates in ${folder}`);
  }
  try {
    return await act();
  } finally {
    database.close();
  }
}

async function takeLock(path: string): Promise<DatabaseSync | null> {
  const giveUpAt = systemClock.monotonicMs() + waitMs;
  do {
    // Not by the database's own waiting, which would hold up this whole process, the holder perhaps with it.
    const database = new DatabaseSync(path, { timeout: 0 });
    try {
      chmodSync(path, 0o600);
      database.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
      return database;
    } catch {
      database.close();
    }
    await systemClock.sleep(lookMs);
  } while (systemClock.monotonicMs() < giveUpAt);
  return null;
}
