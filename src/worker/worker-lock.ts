import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { WritError } from "../core/errors.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import { tryLockFile } from "../runtime/files/file-lock.ts";
import { trySocketLock } from "../runtime/files/socket-lock.ts";
import type { Logger } from "../runtime/log/logger.ts";

type WorkerLock = { release(): Promise<void> };

const waitMs = 60_000;
/** Random, so that two processes that both gave way do not try at the same time again. */
const retryMs = (): number => 40 + Math.random() * 40;
/** From this version on Node has SQLite, which the lock on a file needs. */
const sqliteMajor = 26;
/** A home alone is not enough: it has the worker's key, and the hub knows one key for each worker id. */
const ownName =
  "a second worker on this machine needs a worker id and a home of its own (`NODE_ID=ID writ worker --home DIR`; in a program `workerId`, and another `dataDir` if you set that), and a WRIT_WORK_DIR of its own if that is set";

/**
 * Makes sure that only one process works in a directory: two would refuse each other's attempts as replays and remove
 * each other's files. A second one waits for the first, which may be draining, and then gives up. Why: ADR 0104.
 */
export async function lockWorkerDir(
  { clock, logger }: { clock: Clock; logger: Logger },
  dir: string,
  signal?: AbortSignal,
): Promise<WorkerLock> {
  const endsAtMs = clock.monotonicMs() + waitMs;
  let lock = await tryLockDir(dir);
  if (lock === null)
    logger.warn(
      { dir },
      `another worker process uses ${dir}; waiting up to ${waitMs / 1000} s for it to end; ${ownName}`,
    );
  while (lock === null && clock.monotonicMs() < endsAtMs) {
    await clock.sleep(retryMs(), signal);
    lock = await tryLockDir(dir);
  }
  // For people only: the lock itself shows whether a process holds it.
  const pidFile = join(dir, "worker.pid");
  if (lock === null) throw await isHeld(dir, pidFile);
  const held = lock;
  await writeFile(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return {
    async release() {
      await rm(pidFile, { force: true });
      await held.release();
    },
  };
}

/**
 * Other programs check the lock on a file, which works on every file system with locks. An older Node has only the
 * socket. So both are taken where both are possible, and a worker on one Node notices a worker on another.
 */
async function tryLockDir(dir: string, nodeMajor = Number.parseInt(process.versions.node, 10)) {
  const hasFileLock = nodeMajor >= sqliteMajor;
  const socket = await trySocketLock(join(dir, "worker.sockets")).catch((error: Error) => {
    // A file system without sockets.
    if (hasFileLock) return { release: async () => {} };
    throw new WritError("CONFIG_INVALID", `${dir} cannot be locked: ${error.message}`, { dir });
  });
  if (socket === null || !hasFileLock) return socket;
  const file = tryLockFile(join(dir, "worker.lock"));
  if (file === null) await socket.release();
  return file === null ? null : { release: () => socket.release().finally(() => file.release()) };
}

async function isHeld(dir: string, pidFile: string): Promise<WritError> {
  // The other process may not have written it yet.
  const pid = (await readFile(pidFile, "utf8").catch(() => "")).trim() || "unknown";
  return new WritError("CONFIG_INVALID", `process ${pid} is already working in ${dir}; stop it; ${ownName}`, {
    dir,
    pid,
  });
}
