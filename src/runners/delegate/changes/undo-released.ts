import type { RunnerDeps, RunOutcome } from "../../runner.ts";
import { isLive, type Workspace } from "../repository/workspace.ts";
import { listOf } from "./find-changes.ts";
import { undoWork } from "./put-back.ts";

type Released = Extract<RunOutcome, { kind: "released" }>;

/**
 * A released or lost attempt does not count, so its agent's changes in place are put back. The reason, and the log for
 * an attempt that the hub has given up, name the files that could not be put back. Why: ADR 0066.
 */
export async function undoReleased(
  { logger }: Pick<RunnerDeps, "logger">,
  workspace: Workspace,
  outcome: Released,
): Promise<Released> {
  if (!isLive(workspace)) return outcome;
  const { dir } = workspace;
  try {
    const left = await undoWork(workspace);
    if (left.length > 0)
      logger.warn({ dir, left: left.slice(0, 100) }, "files of a repository are still changed");
    return stillChanged(outcome, left);
  } catch (error) {
    logger.error({ dir, err: error }, "what an agent changed in place could not be put back");
    return { ...outcome, reason: `${outcome.reason}; what the agent changed was not put back` };
  }
}

/** The hub takes no longer reason of a release. */
const reasonCharsMax = 500;

export function stillChanged(outcome: Released, left: readonly string[]): Released {
  if (left.length === 0) return outcome;
  const reason = `${outcome.reason}; these files are still changed: ${listOf(left)}`;
  return { ...outcome, reason: reason.slice(0, reasonCharsMax).toWellFormed() };
}
