import { link, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { WritError } from "../core/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";

export type WorkerLock = { release(): Promise<void> };

const lockName = "worker.pid";
const waitMsMax = 60_000;
const lookEveryMs = 250;

/**
 * Makes sure that one process works in a directory: two would hand out each other's attempts as replays and sweep
 * each other's files. A second one waits for the first, which may just be draining, and then gives up.
 */
export async function lockWorkerDir(
  deps: { clock: Clock; logger: Logger },
  dir: string,
  signal?: AbortSignal,
): Promise<WorkerLock> {
  const { clock, logger } = deps;
  const path = join(dir, lockName);
  const endsAtMs = clock.monotonicMs() + waitMsMax;
  let isTold = false;
  while (true) {
    const holder = await tryLock(path, dir);
    if (holder === null) return { release: () => unlink(path) };
    if (clock.monotonicMs() >= endsAtMs) throw isHeld(dir, holder);
    if (!isTold)
      logger.warn({ dir, pid: holder }, "another worker process uses this directory; waiting for it to end");
    isTold = true;
    await clock.sleep(lookEveryMs, signal);
  }
}

/** Null when the lock is ours now, else the process that has it. */
async function tryLock(path: string, dir: string): Promise<number | null> {
  const mine = join(dir, `.${lockName}.${process.pid}`);
  await writeFile(mine, await describe(process.pid), { mode: 0o600 });
  try {
    // A link is made whole or not at all, so nobody ever reads half of a lock.
    await link(mine, path);
    return null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await unlink(mine);
  }
  return livingHolder(path, dir);
}

async function livingHolder(path: string, dir: string): Promise<number | null> {
  const found = await readFile(path, "utf8").catch(() => "");
  const pid = Number(found.split(" ")[0]);
  if (Number.isSafeInteger(pid) && pid > 0 && found === (await describe(pid))) return pid;
  await removeStale(path, dir, found);
  return tryLock(path, dir);
}

/** Whoever moves the stale lock away first goes on; for the other one it is simply gone. */
async function removeStale(path: string, dir: string, content: string): Promise<void> {
  const stale = join(dir, `.${lockName}.${process.pid}.stale`);
  try {
    await rename(path, stale);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  // In between another process may have put its own lock there: that one goes back.
  if ((await readFile(stale, "utf8")) !== content) await link(stale, path).catch(() => {});
  await unlink(stale);
}

/** The start time tells a process from a later one with the same number. */
async function describe(pid: number): Promise<string> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, "utf8");
    const startTime = text.slice(text.lastIndexOf(")") + 2).split(" ")[19];
    return `${pid} ${startTime}\n`;
  } catch {
    return isAlive(pid) ? `${pid} ?\n` : "";
  }
}

/** For hosts without /proc. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function isHeld(dir: string, pid: number): WritError {
  return new WritError(
    "CONFIG_INVALID",
    `process ${pid} already works in ${dir}; stop it, or give this worker another home`,
    { dir, pid },
  );
}
