import { createHash } from "node:crypto";
import { type FileHandle, rmdir, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../../core/errors.ts";
import { createBeneath, makeDirectoryBeneath } from "../../runtime/create-beneath.ts";
import { openBase, openBeneath, pathOf } from "../../runtime/open-beneath.ts";
import { PathRefused } from "../../runtime/path-refused.ts";
import { removeBeneath } from "../../runtime/remove-beneath.ts";
import { type Change, type Changes, findChanges } from "./find-changes.ts";
import { readTree, type TreeFile } from "./read-tree.ts";
import type { Undo } from "./undo-record.ts";

/**
 * Puts the files of a repository back as they were before the agent came, from the copies that were taken then. Returns
 * the paths that are still changed, because they were too large to be copied or cannot be written.
 */
export async function putBack(undo: Undo, { changed, newDirs }: Changes): Promise<string[]> {
  return withBase(undo, async (base) => {
    const left: string[] = [];
    // First, because such a directory may be where a file was.
    for (const dir of newDirs) await removeBeneath(base, dir).catch(() => left.push(dir));
    return [...left, ...(await putFilesBack(undo, base, changed))];
  });
}

/**
 * The same for an agent that ended some time ago. What changed after `untilMs` is somebody else's work and stays; so does a
 * new directory that is not empty.
 */
export async function putBackLater(undo: Undo, untilMs: number): Promise<string[]> {
  const after = await readTree(undo.dir, undo.look);
  const { changed, newDirs } = findChanges(undo.before, after, undo.allowed);
  const isAgents = ({ after: now }: Change): boolean => now === undefined || now.ctimeMs <= untilMs;
  return withBase(undo, async (base) => {
    const left = await putFilesBack(undo, base, changed.filter(isAgents));
    const deepestFirst = [...newDirs].sort().reverse();
    for (const dir of deepestFirst) await inParent(base, dir, rmdir).catch(() => left.push(dir));
    return [...changed.filter((change) => !isAgents(change)).map(({ path }) => path), ...left];
  });
}

/** The paths that are not as they were before the agent came. */
export async function changedIn({ dir, look, before, allowed }: Undo): Promise<string[]> {
  return findChanges(before, await readTree(dir, look), allowed).changed.map(({ path }) => path);
}

/** Undoes what an agent did whose attempt does not count. Returns the paths that are still changed. */
export async function undoWork(undo: Undo): Promise<string[]> {
  const after = await readTree(undo.dir, undo.look);
  return putBack(undo, findChanges(undo.before, after, undo.allowed));
}

async function withBase<T>({ dir }: Undo, act: (base: FileHandle) => Promise<T>): Promise<T> {
  const base = await openBase(dir);
  try {
    return await act(base);
  } finally {
    await base.close();
  }
}

async function putFilesBack(undo: Undo, base: FileHandle, changed: readonly Change[]): Promise<string[]> {
  const left: string[] = [];
  for (const change of changed) {
    const isBack = await putOneBack(undo, base, change).catch(() => false);
    if (!isBack) left.push(change.path);
  }
  return left;
}

async function putOneBack(
  { beforeDir }: Undo,
  base: FileHandle,
  { path, before, after }: Change,
): Promise<boolean> {
  if (before === undefined) {
    await remove(base, path, after);
    return true;
  }
  const owner = await base.stat();
  if (before.kind === "link") {
    await remove(base, path, after);
    await inParent(base, path, (place) => symlink(before.target ?? "", place));
    return true;
  }
  const from = await openBase(beforeDir);
  try {
    const bytes = await readCopy(from, path);
    // A machine that lost its power may have lost the copy too.
    if (createHash("sha256").update(bytes).digest("hex") !== before.sha256) return false;
    if (before.kind !== after?.kind) await remove(base, path, after);
    const dirs = path.split("/").slice(0, -1);
    if (dirs.length > 0) await (await makeDirectoryBeneath(base, dirs, { owner })).close();
    const file = await createBeneath(base, path);
    try {
      await file.handle.writeFile(bytes);
      await file.handle.chmod(before.mode & 0o777);
      await file.handle.chown(owner.uid, owner.gid);
      await file.keep();
    } finally {
      await file.discard();
    }
  } finally {
    await from.close();
  }
  return true;
}

async function readCopy(from: FileHandle, path: string): Promise<Buffer> {
  const copy = await openBeneath(from, path);
  try {
    return await copy.readFile();
  } finally {
    await copy.close();
  }
}

async function remove(base: FileHandle, path: string, after: TreeFile | undefined): Promise<void> {
  if (after === undefined) return;
  await inParent(base, path, unlink).catch((error: unknown) => {
    const isGone = hasCode(error, "ENOENT") || (error instanceof PathRefused && error.refusal === "missing");
    if (!isGone) throw error;
  });
}

/** Acts on one name in its directory, which is reached without a link. */
async function inParent(
  base: FileHandle,
  path: string,
  act: (place: string) => Promise<void>,
): Promise<void> {
  const slash = path.lastIndexOf("/");
  const name = path.slice(slash + 1);
  if (slash === -1) return act(join(pathOf(base), name));
  const dir = await openBeneath(base, path.slice(0, slash), "directory");
  try {
    await act(join(pathOf(dir), name));
  } finally {
    await dir.close();
  }
}
