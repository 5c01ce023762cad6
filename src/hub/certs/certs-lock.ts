import { mkdir } from "node:fs/promises";
import { WritError } from "../../core/errors.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import { lockFile } from "../../runtime/files/file-lock.ts";
import { certPaths } from "./cert-paths.ts";

/** Making a few certificates takes well under a second. */
const waitMs = 10_000;

/**
 * Runs an act as the only one that changes the certificates of a home. Otherwise a starting hub and a command could
 * create two authorities, and one of two simultaneous revocations could be lost.
 */
export async function withCertsLock<T>(home: string, act: () => Promise<T>): Promise<T> {
  const paths = certPaths(home);
  await mkdir(paths.folder, { recursive: true, mode: 0o700 });
  const lock = await lockFile(paths.lock, { clock: systemClock, waitMs });
  if (lock === null) {
    throw new WritError(
      "CONFIG_INVALID",
      `another program is changing the certificates in ${paths.folder}; try again`,
    );
  }
  try {
    return await act();
  } finally {
    lock.release();
  }
}
