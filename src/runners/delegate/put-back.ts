import { type FileHandle, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { createBeneath } from "../../runtime/create-beneath.ts";
import { openBase, openBeneath, pathOf } from "../../runtime/open-beneath.ts";
import { removeBeneath } from "../../runtime/remove-beneath.ts";
import type { Change, Changes } from "./find-changes.ts";
import type { TreeFile } from "./read-tree.ts";
import type { Workspace } from "./workspace.ts";

/**
 * Puts the files of a repository back as they were before the agent came, from the copies that were taken then. Returns
 * the paths that are still changed, because they were too large to be copied or cannot be written.
 */
export async function putBack(workspace: Workspace, { changed, newDirs }: Changes): Promise<string[]> {
  const left: string[] = [];
  const base = await openBase(workspace.dir);
  try {
    for (const { path, before, after } of changed) {
      const isBack = await putOneBack(workspace, base, { path, before, after }).catch(() => false);
      if (!isBack) left.push(path);
    }
    for (const dir of newDirs) await removeBeneath(base, dir).catch(() => left.push(dir));
  } finally {
    await base.close();
  }
  return left;
}

async function putOneBack(
  { beforeDir }: Workspace,
  base: FileHandle,
  { path, before, after }: Pick<Change, "path" | "before" | "after">,
): Promise<boolean> {
  if (before === undefined || before.kind !== after?.kind) await remove(base, path, after);
  if (before === undefined) return true;
  const owner = await base.stat();
  if (before.kind === "link") {
    await remove(base, path, after);
    await inParent(base, path, (place) => symlink(before.target ?? "", place));
    return true;
  }
  const from = await openBase(beforeDir);
  try {
    const copy = await openBeneath(from, path);
    const file = await createBeneath(base, path);
    try {
      await file.handle.writeFile(await copy.readFile());
      await file.handle.chmod(before.mode & 0o777);
      await file.handle.chown(owner.uid, owner.gid);
      await file.keep();
    } finally {
      await copy.close();
      await file.discard();
    }
  } finally {
    await from.close();
  }
  return true;
}

async function remove(base: FileHandle, path: string, after: TreeFile | undefined): Promise<void> {
  if (after !== undefined) await inParent(base, path, unlink);
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
