import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { undoLeft } from "../runners/delegate/changes/undo-left.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import { isTemporaryFile } from "../runtime/files/private-file.ts";
import { removeLeftovers } from "../runtime/files/remove-leftovers.ts";
import type { Logger } from "../runtime/log/logger.ts";
import type { DiscardFolder } from "../sandbox/discard-folder.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
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
 * What a worker does about its past, before it asks for work. The process before it may have stopped in order, been
 * killed at any moment or lost power. Nobody knows which, so every start does the same.
 *
 * Jobs that were running are not continued. What they wrote that the hub has not answered for, and outcomes that were
 * not reported, go with the process that had them: the hub still holds their leases, which run out, and then decides
 * whether they are tried again. What must not be forgotten is which attempts were begun, and that is in the ledger.
 */
export async function recover(deps: RecoverDeps): Promise<Ledger> {
  const { workerDir, workDir, sandbox, discards, clock, logger } = deps;
  const jobsDir = join(workDir, "jobs");
  // The launcher dies with its worker, and cages with the launcher; their cgroups are left, perhaps with a process that
  // has not ended yet. Processes are ended before the directories that they write to are removed.
  await sandbox.sweep(await readdir(jobsDir).catch(() => []));
  // No agent of theirs works any more, and the copies of what it changed are still there.
  await undoLeft(jobsDir, logger);
  // A tree that cannot be removed is no reason not to start.
  await discards.discardAllIn(jobsDir);
  await mkdir(jobsDir, { recursive: true, mode: 0o700 });
  await removeLeftovers([{ dir: workerDir, isLeftover: isTemporaryFile }], {
    nowMs: clock.nowMs(),
    uid: process.getuid?.(),
    logger,
  });
  // Half a line at its end is dropped: it belongs to an attempt that was never started.
  return Ledger.open(join(workerDir, "ledger.log"), () => clock.nowMs());
}
