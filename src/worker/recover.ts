import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { undoLeft } from "../runners/delegate/changes/undo-left.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import { isTemporaryFile } from "../runtime/files/private-file.ts";
import { removeLeftovers } from "../runtime/files/remove-leftovers.ts";
import type { Logger } from "../runtime/log/logger.ts";
import type { DiscardFolder } from "../sandbox/discard-folder.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { foldersName, jobsName } from "./attempt/attempt-dir.ts";
import { Ledger } from "./claims/ledger.ts";

type RecoverDeps = {
  /** The worker's own directory in the home, and where jobs have their files; both are locked by this process. */
  workerDir: string;
  workDir: string;
  sandbox: Pick<Sandbox, "sweep">;
  discards: Pick<DiscardFolder, "discardAllIn">;
  clock: Clock;
  logger: Logger;
};

/**
 * Cleans up after the previous process of a worker, before the first claim. That process may have stopped in order,
 * been killed at any moment or lost power. The worker cannot know which, so every start does the same.
 *
 * Running jobs are not continued. Output that the hub has not confirmed, and outcomes that were not reported, are lost
 * with their process: their leases expire at the hub, which then decides about a retry. The ledger keeps which attempts
 * were begun.
 */
export async function recover(deps: RecoverDeps): Promise<Ledger> {
  const { workerDir, workDir, sandbox, discards, clock, logger } = deps;
  const jobsDir = join(workDir, jobsName);
  const foldersDir = join(workDir, foldersName);
  // The launcher dies with its worker, and cages with the launcher; their cgroups are left, perhaps with a process that
  // has not ended yet. Processes are ended before the directories that they write to are removed.
  await sandbox.sweep(await jobsWithDirs(jobsDir, foldersDir));
  // Their agents no longer run, and the copies of changed files still exist.
  await undoLeft(jobsDir, logger);
  // A tree that cannot be removed does not prevent the start.
  for (const dir of [jobsDir, foldersDir]) {
    await discards.discardAllIn(dir);
    await mkdir(dir, { recursive: true, mode: 0o700 });
  }
  await removeLeftovers([{ dir: workerDir, isLeftover: isTemporaryFile }], {
    nowMs: clock.nowMs(),
    uid: process.getuid?.(),
    logger,
  });
  // Half a line at its end is dropped: it belongs to an attempt that was never started.
  return Ledger.open(join(workerDir, "ledger.log"), () => clock.nowMs());
}

/** A job that was short so far has only its folder. */
async function jobsWithDirs(jobsDir: string, foldersDir: string): Promise<string[]> {
  // A directory that is not there, or cannot be read, names no job.
  const namesIn = (dir: string) => readdir(dir).catch(() => []);
  const folders = (await namesIn(foldersDir)).map((name) => name.replace(/\.\d+$/, ""));
  return [...new Set([...(await namesIn(jobsDir)), ...folders])];
}
