import type { FileHandle } from "node:fs/promises";
import type { Clock } from "../../../runtime/clock/clock.ts";
import { failedOutcome } from "../../keep-files.ts";
import type { RunContext, RunnerDeps, RunOutcome } from "../../runner.ts";
import type { Owner } from "../repository/check-paths.ts";
import { readTree, type Tree } from "../repository/read-tree.ts";
import {
  makeDirs,
  placeFile,
  placeLink,
  readCopy,
  removeEmpty,
  removeSeen,
  withBase,
} from "../repository/repository-files.ts";
import type { Workspace } from "../repository/workspace.ts";
import { type Change, type Changes, findChanges, listOf } from "./find-changes.ts";
import { keepUndo } from "./undo-record.ts";

type EndedOutcome = Exclude<RunOutcome, { kind: "released" }>;

/**
 * Ends the work of an agent that changed a copy and should change the repository in place. After a violation nothing is
 * moved.
 */
export async function moveWorkIn(
  { clock }: Pick<RunnerDeps, "clock">,
  { attemptDir }: Pick<RunContext, "attemptDir">,
  { workspace, outcome }: { workspace: Workspace; outcome: EndedOutcome },
): Promise<RunOutcome> {
  const { moveInto } = workspace;
  const isViolation = outcome.kind === "failed" && outcome.code === "SECURITY_VIOLATION";
  if (moveInto === undefined || isViolation) return outcome;
  const left = await moveIn(clock, attemptDir, { workspace, into: moveInto });
  if (left.length === 0) return outcome;
  const why = `another program changed these files meanwhile, so the agent's changes are only in the diff: ${listOf(left)}`;
  if (outcome.kind === "failed") return { ...outcome, reason: `${outcome.reason}; ${why}` };
  return { ...failedOutcome(outcome, why), code: "EXECUTION_ERROR" };
}

/**
 * Moves what an agent changed in a copy into the repository. Each file replaces the one of its name, so that other
 * names of that one keep their content. Returns the paths that another program or person has changed meanwhile; then
 * nothing is moved. Why: ADR 0096.
 */
async function moveIn(
  clock: Clock,
  attemptDir: string,
  { workspace, into }: { workspace: Workspace; into: string },
): Promise<string[]> {
  const changes = findChanges(
    workspace.before,
    await readTree(workspace.dir, workspace.look),
    workspace.allowed,
  );
  const roots = changes.changed.map(({ path }) => path);
  const now = await readTree(into, { roots, hidden: [] });
  const conflicts = changes.changed.filter((change) => isConflict(change, now)).map(({ path }) => path);
  if (conflicts.length > 0) return conflicts;
  // After a kill in the middle, the next start of the worker puts the moved files back.
  const kept = await keepUndo(clock, attemptDir, { ...workspace, dir: into });
  try {
    return await withBase(into, (base) => moveAll(base, { workspace, changes, now }));
  } finally {
    await kept.forget();
  }
}

function isConflict({ path, before }: Change, now: Tree): boolean {
  const found = now.files.get(path);
  return found?.kind !== before?.kind || found?.sha256 !== before?.sha256;
}

type Moving = { workspace: Workspace; changes: Changes; now: Tree };

async function moveAll(base: FileHandle, { workspace, changes, now }: Moving): Promise<string[]> {
  const { changed, newDirs, lostDirs } = changes;
  const { uid, gid } = await base.stat();
  const owner = { uid, gid };
  const left: string[] = [];
  const moveEach = async (some: readonly Change[]): Promise<void> => {
    for (const change of some) {
      // The path is reported as left.
      const isMoved = await moveOne(base, change, { dir: workspace.dir, now, owner }).catch(() => false);
      if (!isMoved) left.push(change.path);
    }
  };
  // Removed files may be in the way of added ones.
  await moveEach(changed.filter(({ after }) => after === undefined));
  await removeEmpty(base, lostDirs);
  await moveEach(changed.filter(({ after }) => after !== undefined));
  for (const dir of newDirs) await makeDirs(base, dir, owner).catch(() => left.push(dir));
  return left;
}

async function moveOne(
  base: FileHandle,
  { path, before, after }: Change,
  { dir, now, owner }: { dir: string; now: Tree; owner: Owner },
): Promise<boolean> {
  const found = now.files.get(path);
  const isReplaced = after?.kind === "file" && found?.kind === "file";
  if (found !== undefined && !isReplaced && !(await removeSeen(base, { path, inode: found.inode })))
    return false;
  if (after === undefined) return true;
  if (after.kind === "link") {
    await placeLink(base, path, { target: after.target ?? "", owner });
    return true;
  }
  const bytes = await readCopy(dir, path, after);
  if (bytes === null) return false;
  // The copy of a file that its owner may not read can be read all the same, so the modes of copies are not to be kept.
  const mode = after.mode === before?.mode ? (found?.mode ?? after.mode) : after.mode;
  await placeFile(base, path, { bytes, mode, owner });
  return true;
}
