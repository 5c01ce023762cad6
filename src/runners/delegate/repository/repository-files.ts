import { createHash } from "node:crypto";
import {
  chmod,
  type FileHandle,
  lchown,
  lstat,
  rename,
  rmdir,
  symlink,
  truncate,
  unlink,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createBeneath, makeDirectoryBeneath } from "../../../runtime/files/create-beneath.ts";
import { openBase, openBeneath, openEntry, pathOf } from "../../../runtime/files/open-beneath.ts";
import type { Owner } from "./check-paths.ts";
import type { TreeFile } from "./read-tree.ts";

/** Opens a repository as the base of paths in it, for as long as `act` takes. */
export async function withBase<T>(dir: string, act: (base: FileHandle) => Promise<T>): Promise<T> {
  const base = await openBase(dir);
  try {
    return await act(base);
  } finally {
    await base.close();
  }
}

/** The content of a copied file; null if it does not exist or is not the recorded one. */
export async function readCopy(dir: string, path: string, { sha256 }: TreeFile): Promise<Buffer | null> {
  return withBase(dir, async (from) => {
    // A file that was too large for a copy has none.
    const copy = await openBeneath(from, path).catch(() => null);
    if (copy === null) return null;
    try {
      const bytes = await copy.readFile();
      return createHash("sha256").update(bytes).digest("hex") === sha256 ? bytes : null;
    } finally {
      await copy.close();
    }
  });
}

/**
 * Puts a file into its place, whole or not at all. A file of that name is replaced: the new one has the same owner, and
 * other names of the old one keep their content.
 */
export async function placeFile(
  base: FileHandle,
  path: string,
  { bytes, mode, owner }: { bytes: Buffer; mode: number; owner: Owner },
): Promise<void> {
  await makeDirsAbove(base, path, owner);
  // There is no file of this name to replace.
  const replaced = await inParent(base, path, (place) => lstat(place)).catch(() => null);
  const { uid, gid } = replaced?.isFile() ? replaced : owner;
  const file = await createBeneath(base, path);
  try {
    await file.handle.writeFile(bytes);
    await file.handle.chmod(mode & 0o777);
    await file.handle.chown(uid, gid);
    await file.keep();
  } finally {
    await file.discard();
  }
}

export async function placeLink(
  base: FileHandle,
  path: string,
  { target, owner }: { target: string; owner: Owner },
): Promise<void> {
  await makeDirsAbove(base, path, owner);
  await inParent(base, path, async (place) => {
    await symlink(target, place);
    await lchown(place, owner.uid, owner.gid);
  });
}

export async function makeDirs(base: FileHandle, path: string, owner: Owner): Promise<void> {
  await (await makeDirectoryBeneath(base, path.split("/"), { owner })).close();
}

async function makeDirsAbove(base: FileHandle, path: string, owner: Owner): Promise<void> {
  if (path.includes("/")) await makeDirs(base, dirname(path), owner);
}

/** A file that was seen under a path. */
type Seen = { path: string; inode: string };

/** Removes a name if it still leads to the file that was seen there. Returns whether it did. */
export function removeSeen(base: FileHandle, seen: Seen): Promise<boolean> {
  return withSeen(base, seen, (place) => unlink(place));
}

/** Renames the file that was seen under a path, if it is still there. A missing target directory is created. */
export async function moveSeen(
  base: FileHandle,
  seen: Seen,
  { to, owner, mode }: { to: string; owner: Owner; mode?: number | undefined },
): Promise<boolean> {
  await makeDirsAbove(base, to, owner);
  return withSeen(base, seen, async (place, entry) => {
    await inParent(base, to, (target) => rename(place, target));
    if (mode !== undefined) await chmod(pathOf(entry), mode & 0o777);
  });
}

/** Writes into the file that was seen, so that each of its names has the content again. */
export function writeIntoSeen(
  base: FileHandle,
  seen: Seen,
  { bytes, mode }: { bytes: Buffer; mode: number },
): Promise<boolean> {
  return withSeen(base, seen, async (_place, entry) => {
    await truncate(pathOf(entry));
    await writeFile(pathOf(entry), bytes);
    await chmod(pathOf(entry), mode & 0o777);
  });
}

function withSeen(
  base: FileHandle,
  { path, inode }: Seen,
  act: (place: string, entry: FileHandle) => Promise<void>,
): Promise<boolean> {
  return inParent(base, path, async (place, dir) => {
    const entry = await openEntry(dir, basename(path));
    try {
      const { ino } = await entry.stat({ bigint: true });
      if (String(ino) !== inode) return false;
      await act(place, entry);
      return true;
    } finally {
      await entry.close();
    }
  });
}

/** Removes directories as far as they are empty. Returns those that are not. */
export async function removeEmpty(base: FileHandle, dirs: readonly string[]): Promise<string[]> {
  const left: string[] = [];
  const deepestFirst = [...dirs].sort().reverse();
  for (const dir of deepestFirst) await inParent(base, dir, rmdir).catch(() => left.push(dir));
  return left;
}

/** Acts on one name in its directory, which is reached without a link. */
async function inParent<T>(
  base: FileHandle,
  path: string,
  act: (place: string, dir: FileHandle) => Promise<T>,
): Promise<T> {
  const name = basename(path);
  if (name === path) return act(join(pathOf(base), name), base);
  const dir = await openBeneath(base, dirname(path), "directory");
  try {
    return await act(join(pathOf(dir), name), dir);
  } finally {
    await dir.close();
  }
}
