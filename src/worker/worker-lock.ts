import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { WritError } from "../core/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import { lockFile } from "../runtime/file-lock.ts";
import type { Logger } from "../runtime/logger.ts";

type WorkerLock = { release(): Promise<void> };

const waitMs = 60_000;
const ownHome =
  "a second worker on this machine needs a home of its own (`writ worker --home DIR`; in a program `dataDir`), and a WRIT_WORK_DIR of its own if that is set";

/**
 * Makes sure that only one process works in a directory: two would refuse each other's attempts as replays and remove
 * each other's files. A second one waits for the first, which may be draining, and then gives up.
 */
export async function lockWorkerDir(
  { clock, logger }: { clock: Clock; logger: Logger },
  dir: string,
  signal?: AbortSignal,
): Promise<WorkerLock> {
  const onWait = () =>
    logger.warn(
      { dir },
      `another worker process uses ${dir}; waiting up to ${waitMs / 1000} s for it to end; ${ownHome}`,
    );
  const lock = await lockFile(join(dir, "worker.lock"), { clock, waitMs, signal, onWait });
  // Only for people: the lock itself shows whether somebody is there.
  const pidFile = join(dir, "worker.pid");
  if (lock === null) throw await isHeld(dir, pidFile);
  await writeFile(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return {
    async release() {
      await rm(pidFile, { force: true });
      lock.release();
    },
  };
}

async function isHeld(dir: string, pidFile: string): Promise<WritError> {
  const pid = (await readFile(pidFile, "utf8").catch(() => "")).trim() || "unknown";
  return new WritError("CONFIG_INVALID", `process ${pid} is already working in ${dir}; stop it; ${ownHome}`, {
    dir,
    pid,
  });
}
