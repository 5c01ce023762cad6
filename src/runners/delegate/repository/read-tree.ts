import { createHash } from "node:crypto";
import { type FileHandle, readlink } from "node:fs/promises";
import { isGitPath } from "../../../core/path-rules.ts";
import { openBase, openContent, pathOf } from "../../../runtime/files/open-beneath.ts";
import { TooManyEntries, type WalkedEntry, walkBeneath } from "../../../runtime/files/walk-beneath.ts";
import { RunFailure } from "../../runner.ts";

/** A file or a link, as it was when it was read. */
export type TreeFile = {
  kind: "file" | "link";
  /** Permissions, with the set-id bits. */
  mode: number;
  size: number;
  /** Of the content; of a link, of what it points to. */
  sha256: string;
  /** Where a link points. */
  target?: string;
  /** When it was last changed in any way; no program can set this time. */
  ctimeMs: number;
  /** Identifies the file under any name. */
  inode: string;
  /** How many names of the same file are outside of the read paths. */
  otherNames: number;
};

/** A `.git` directory, or the file in a submodule. Its content is not read. */
export type GitPath = Pick<TreeFile, "ctimeMs" | "inode"> & { isFile: boolean };

export type Tree = {
  files: Map<string, TreeFile>;
  gitPaths: Map<string, GitPath>;
  dirs: Set<string>;
  leftOut: Map<string, string>;
};

/** The paths to read, relative to the base, and those to skip. Missing ones are left out. */
export type Look = { roots: readonly string[]; hidden: readonly string[] };

type Reading = { tree: Tree; inodes: Map<bigint, { links: number; paths: string[] }> };

/** Reads a directory that may belong to any user, by descriptors. */
export async function readTree(baseDir: string, { roots, hidden }: Look): Promise<Tree> {
  const tree: Tree = { files: new Map(), gitPaths: new Map(), dirs: new Set(), leftOut: new Map() };
  const reading: Reading = { tree, inodes: new Map() };
  await walkRoots(baseDir, roots, {
    visit: async (found) => (hidden.includes(found.path) ? "skip" : readEntry(found, reading)),
    leaveOut: (path, why) => void tree.leftOut.set(path, why),
  });
  for (const { links, paths } of reading.inodes.values())
    for (const path of paths) tree.files.get(path)!.otherNames = links - paths.length;
  return tree;
}

/** Enough to keep Node's four file threads busy. */
const atOnce = 16;

/** Walks several paths below one directory. Throws a RunFailure if there is too much in them. */
export async function walkRoots(
  baseDir: string,
  roots: readonly string[],
  walk: Parameters<typeof walkBeneath>[2],
): Promise<void> {
  const base = await openBase(baseDir);
  try {
    for (const root of roots) await walkBeneath(base, root, { atOnce, ...walk });
  } catch (error) {
    if (!(error instanceof TooManyEntries)) throw error;
    throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", `in the paths that may change, ${error.message}`);
  } finally {
    await base.close();
  }
}

async function readEntry(found: WalkedEntry, { tree, inodes }: Reading): Promise<"skip" | undefined> {
  const { path, entry, status } = found;
  const identity = { inode: String(status.ino), ctimeMs: Number(status.ctimeMs) };
  if (isGitPath(path)) {
    tree.gitPaths.set(path, { isFile: !status.isDirectory(), ...identity });
    return "skip";
  }
  if (status.isDirectory()) return void tree.dirs.add(path);
  if (!status.isFile() && !status.isSymbolicLink())
    return void tree.leftOut.set(path, "is a pipe, a socket or a device");
  const kind = status.isFile() ? "file" : "link";
  const content = kind === "file" ? await hashFile(entry) : await hashLink(found);
  if (content === null) return void tree.leftOut.set(path, "may not be read");
  const mode = Number(status.mode) & 0o7777;
  tree.files.set(path, { kind, mode, ...identity, otherNames: 0, ...content });
  if (kind === "link") return;
  const inode = inodes.get(status.ino) ?? { links: Number(status.nlink), paths: [] };
  inode.paths.push(path);
  inodes.set(status.ino, inode);
}

async function hashLink({ dir, name }: WalkedEntry) {
  const target = await readlink(`${pathOf(dir)}/${name}`);
  const sha256 = createHash("sha256").update(target).digest("hex");
  return { target, size: Buffer.byteLength(target), sha256 };
}

/** Null if this worker may not read it. */
async function hashFile(entry: FileHandle): Promise<{ size: number; sha256: string } | null> {
  // Null means that it may not be read; see above.
  const file = await openContent(entry).catch(() => null);
  if (file === null) return null;
  try {
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafe(64 * 1024);
    let size = 0;
    for (let bytesRead = -1; bytesRead !== 0; size += bytesRead) {
      ({ bytesRead } = await file.read(buffer, 0, buffer.length, size));
      hash.update(buffer.subarray(0, bytesRead));
    }
    return { size, sha256: hash.digest("hex") };
  } finally {
    await file.close();
  }
}
