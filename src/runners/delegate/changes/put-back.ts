import { randomBytes } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { lookAgain } from "../repository/find-own-files.ts";
import { readTree, type TreeFile } from "../repository/read-tree.ts";
import {
  makeDirs,
  moveSeen,
  placeFile,
  placeLink,
  readCopy,
  removeEmpty,
  removeSeen,
  withBase,
  writeIntoSeen,
} from "../repository/repository-files.ts";
import { type Change, type Changes, findChanges, hasChangedElsewhere } from "./find-changes.ts";
import type { Undo } from "./undo-record.ts";

/**
 * Puts the files of a repository back as they were before the agent started. Moved files are moved back; the rest comes
 * from the copies of that time. Only new files that were seen and new directories that are then empty are removed, and
 * never the directories of git. Returns the paths that are still changed. Why: ADR 0066, ADR 0096.
 */
export async function putBack(undo: Undo, changes: Changes): Promise<string[]> {
  return withBase(undo.dir, async (base) => {
    const { changed, newDirs, lostDirs } = changes;
    const { uid, gid } = await base.stat();
    const putting = { undo, base, owner: { uid, gid } };
    const moves = findMoves(changed);
    const left = await removeAdded(
      putting,
      changed.filter((change) => !moves.has(change)),
    );
    left.push(...(await putGitBack(putting, changes)));
    const moved = await moveFilesBack(putting, moves);
    left.push(...moved.left);
    // Before the files, because such a directory may be in the place of a file.
    left.push(...(await removeEmpty(base, newDirs)));
    for (const dir of lostDirs) await makeDirs(base, dir, putting.owner).catch(() => left.push(dir));
    for (const change of changed.filter(({ before }) => before !== undefined)) {
      // The path is reported as left.
      const isBack = moved.back.has(change.path) || (await putOneBack(putting, change).catch(() => false));
      if (!isBack) left.push(change.path);
    }
    return [...new Set(left)];
  });
}

/** The same for an agent that ended some time ago. Changes after `untilMs` are not the agent's and stay. */
export async function putBackLater(undo: Undo, untilMs: number): Promise<string[]> {
  const changes = await changesIn(undo);
  const isAgents = (now: Pick<TreeFile, "ctimeMs"> | undefined): boolean =>
    now === undefined || now.ctimeMs <= untilMs;
  const changed = changes.changed.filter(({ after: now }) => isAgents(now));
  const newGit = new Map([...changes.newGit].filter(([, found]) => isAgents(found)));
  const others = changes.changed.filter((change) => !changed.includes(change)).map(({ path }) => path);
  return [...others, ...(await putBack(undo, { ...changes, changed, newGit }))];
}

/** The paths that differ from the state before the agent started. */
export async function changedIn(undo: Undo): Promise<string[]> {
  return (await changesIn(undo)).changed.map(({ path }) => path);
}

/** Undoes the work of an agent whose attempt does not count. Returns the paths that are still changed. */
export async function undoWork(undo: Undo): Promise<string[]> {
  return putBack(undo, await changesIn(undo));
}

async function changesIn(undo: Undo): Promise<Changes> {
  const { look } = await lookAgain(undo);
  return findChanges(undo.before, await readTree(undo.dir, look), undo.allowed);
}

type Putting = { undo: Undo; base: FileHandle; owner: { uid: number; gid: number } };

type Move = { to: string; mode: number };

/**
 * New files with the former content of another file, and that file's place. Such a file was most likely moved, and if
 * it was too large for a copy, it is the only one there is.
 */
function findMoves(changed: readonly Change[]): Map<Change, Move> {
  const added = changed.filter(({ before, after }) => before === undefined && after?.kind === "file");
  const byInode = new Map(added.map((change) => [change.after!.inode, change]));
  const byContent = Map.groupBy(added, ({ after }) => after!.sha256);
  const moves = new Map<Change, Move>();
  for (const { path, before, after } of changed) {
    const isReplaceable = after === undefined || (after.kind === "file" && after.otherNames === 0);
    if (before?.kind !== "file" || !isReplaceable || before.sha256 === after?.sha256) continue;
    const same = byInode.get(before.inode);
    const isMoved = same?.after?.sha256 === before.sha256;
    const move = isMoved ? same : byContent.get(before.sha256)?.pop();
    if (move !== undefined && !moves.has(move)) moves.set(move, { to: path, mode: before.mode });
  }
  return moves;
}

async function removeAdded({ base }: Putting, changed: readonly Change[]): Promise<string[]> {
  const left: string[] = [];
  for (const { path, before, after } of changed) {
    if (before !== undefined || after === undefined) continue;
    // The path is reported as left.
    const isRemoved = await removeSeen(base, { path, inode: after.inode }).catch(() => false);
    if (!isRemoved) left.push(path);
  }
  return left;
}

/** A file that cannot be moved back stays where it is. */
async function moveFilesBack(
  { base, owner }: Putting,
  moves: ReadonlyMap<Change, Move>,
): Promise<{ back: Set<string>; left: string[] }> {
  const [back, left] = [new Set<string>(), [] as string[]];
  for (const [{ path, after }, move] of moves) {
    const seen = { path, inode: after!.inode };
    // The path is reported as left.
    const isBack = await moveSeen(base, seen, { ...move, owner }).catch(() => false);
    if (isBack) back.add(move.to);
    else left.push(path);
  }
  return { back, left };
}

/**
 * Moves a former `.git` back to its place. A new one could be a person's repository, or hooks for the next person who
 * runs git there: it stays, under a name that git does not use.
 */
async function putGitBack({ base, owner }: Putting, { newGit, lostGit }: Changes): Promise<string[]> {
  const left = new Set([...newGit.keys(), ...lostGit.keys()]);
  for (const [path, { inode }] of newGit) {
    const [to] = [...lostGit].find(([, before]) => before.inode === inode) ?? [];
    const aside = `${path}-set-aside-${randomBytes(4).toString("hex")}`;
    // The path is reported as left.
    const isMoved = await moveSeen(base, { path, inode }, { to: to ?? aside, owner }).catch(() => false);
    if (!isMoved) continue;
    left.delete(path);
    left.delete(to ?? "");
    if (to === undefined) left.add(aside);
  }
  return [...left];
}

async function putOneBack({ undo, base, owner }: Putting, { path, before, after }: Change): Promise<boolean> {
  if (before === undefined) return true;
  if (before.kind === "link") {
    if (after !== undefined && !(await removeSeen(base, { path, inode: after.inode }))) return false;
    await placeLink(base, path, { target: before.target ?? "", owner });
    return true;
  }
  const bytes = await readCopy(undo.beforeDir, path, before);
  if (bytes === null) return false;
  if (after !== undefined && hasChangedElsewhere(before, after))
    return writeIntoSeen(base, { path, inode: before.inode }, { bytes, mode: before.mode });
  if (after?.kind === "link" && !(await removeSeen(base, { path, inode: after.inode }))) return false;
  await placeFile(base, path, { bytes, mode: before.mode, owner });
  return true;
}
