import { constants } from "node:fs";
import { chmod, copyFile, lchown, mkdir, readlink, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isGitPath } from "../../../core/path-rules.ts";
import { pathOf } from "../../../runtime/files/open-beneath.ts";
import type { WalkedEntry } from "../../../runtime/files/walk-beneath.ts";
import { RunFailure } from "../../runner.ts";
import type { Owner } from "./check-paths.ts";
import { type Look, walkRoots } from "./read-tree.ts";

type Copying = Look & {
  /** A directory of the worker, to which no other program writes. */
  to: string;
  /** Larger files are left out. */
  fileBytesMax: number;
  /** The owner of the copy (default: this process). */
  giveTo?: Owner | undefined;
  /** Only files that this owner may read are copied (default: those that this process may read). */
  readableFor?: Owner | undefined;
};

/** A private copy of more than this would fill the disk of a worker with a few jobs. */
const copyBytesMax = 1024 ** 3;

/**
 * Copies paths below a directory. Of `.git` only its place is copied. Throws a RunFailure if it is too much.
 * Why: ADR 0048, ADR 0066.
 */
export async function copyTree(from: string, copying: Copying): Promise<void> {
  const { to, hidden, readableFor } = copying;
  let bytesLeft = copyBytesMax;
  const give = async (path: string): Promise<void> => {
    if (copying.giveTo !== undefined) await lchown(path, copying.giveTo.uid, copying.giveTo.gid);
  };
  for (const root of copying.roots) await makeAbove(to, root, give);
  await walkRoots(from, copying.roots, {
    async visit(found) {
      const { path, status } = found;
      const place = join(to, path);
      if (hidden.includes(path) || !mayRead(found, readableFor)) return "skip";
      if (isGitPath(path)) {
        await (status.isDirectory() ? mkdir(place) : writeFile(place, ""));
        await give(place);
        return "skip";
      }
      if (status.isFile() && status.size > BigInt(copying.fileBytesMax)) return;
      if (status.isFile()) bytesLeft -= Number(status.size);
      if (bytesLeft < 0) throw tooMuch();
      if (await copyEntry(found, place)) await give(place);
      return;
    },
    leaveOut: () => {},
  });
}

/** The directories that lead to a root; it may be missing itself. */
async function makeAbove(to: string, root: string, give: (path: string) => Promise<void>): Promise<void> {
  const names = root.split("/").slice(0, -1);
  for (let length = 0; length <= names.length; length++) {
    const dir = join(to, ...names.slice(0, length));
    await mkdir(dir, { recursive: true });
    await give(dir);
  }
}

async function copyEntry({ dir, name, entry, status }: WalkedEntry, place: string): Promise<boolean> {
  const mode = Number(status.mode) & 0o777;
  if (status.isSymbolicLink()) {
    await symlink(await readlink(`${pathOf(dir)}/${name}`), place);
    return true;
  }
  if (status.isDirectory()) {
    // Other users get the access of the original; the owner gets full access, because files are put into it.
    await mkdir(place);
    await chmod(place, mode | 0o700);
    return true;
  }
  if (!status.isFile()) return false;
  await copyFile(pathOf(entry), place, constants.COPYFILE_FICLONE);
  await chmod(place, mode | 0o400);
  // Builds compare times.
  await utimes(place, Number(status.atimeMs) / 1000, Number(status.mtimeMs) / 1000);
  return true;
}

/** A worker that is root must not show a job what the owner of the repository may not read. */
function mayRead({ status }: WalkedEntry, owner: Owner | undefined): boolean {
  if (owner === undefined || status.isSymbolicLink() || Number(status.uid) === owner.uid) return true;
  const mode = Number(status.mode);
  const needed = status.isDirectory() ? 0o5 : 0o4;
  const isOfGroup = Number(status.gid) === owner.gid;
  return (mode & needed) === needed || (isOfGroup && ((mode >> 3) & needed) === needed);
}

function tooMuch(): RunFailure {
  const reason = `the paths that may change have more than ${copyBytesMax} bytes; allow fewer, or use mode in-place`;
  return new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
}

/** For directories of ours that lead to a place inside them. A job may go through them, whatever the worker's umask is. */
export async function makePlace(path: string, kind: "directory" | "file"): Promise<void> {
  const dir = kind === "directory" ? path : dirname(path);
  const first = await mkdir(dir, { recursive: true });
  if (first !== undefined) for (const made of dirsFrom(first, dir)) await chmod(made, 0o755);
  if (kind === "file") await writeFile(path, "", { flag: "a" });
}

function dirsFrom(first: string, last: string): string[] {
  return last === first ? [first] : [...dirsFrom(first, dirname(last)), last];
}
