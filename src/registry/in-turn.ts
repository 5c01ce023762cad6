import { join } from "node:path";
import { systemClock } from "../runtime/clock/clock.ts";
import { type FileLock, lockFile } from "../runtime/files/file-lock.ts";
import { findRegistryDir, type RegistryPlace } from "./registry-place.ts";

/**
 * Far longer than a change takes, even on a slow disk; a process that was stopped while it held the lock does not block
 * the others.
 */
const lockMsMax = 10_000;

/**
 * Changes the registry and writes the change to the history, under a lock that one process holds at a time. The act gets the
 * time after the lock is taken, so the lines of the history are in the order of their times. The history must not hold the
 * registry up: if the lock cannot be taken, the act runs without it. `make` also makes the directory that the lock is in.
 * Why: ADR 0098.
 */
export async function inTurn<T>(
  place: RegistryPlace,
  act: (nowMs: number) => Promise<T>,
  { make = false }: { make?: boolean } = {},
): Promise<T> {
  const lock = await takeLock(place, make);
  try {
    return await act((place.clock ?? systemClock).nowMs());
  } finally {
    lock?.release();
  }
}

/** Null if there is no registry, or it cannot be locked: the act meets the same problem and reports it. */
async function takeLock(place: RegistryPlace, make: boolean): Promise<FileLock | null> {
  try {
    const dir = await findRegistryDir(place, make);
    if (dir === null) return null;
    return await lockFile(join(dir, "history.lock"), { clock: systemClock, waitMs: lockMsMax });
  } catch {
    // The act that follows meets the same problem and reports it.
    return null;
  }
}
