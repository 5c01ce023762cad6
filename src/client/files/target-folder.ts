import { randomBytes } from "node:crypto";
import { lstat, mkdir, open, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../../core/errors.ts";
import { relativePathProblem } from "../../core/path-rules.ts";
import { makeDir } from "../../runtime/files/make-dir.ts";
import type { NewFile } from "../../runtime/files/new-file.ts";
import { PathRefused } from "../../runtime/files/path-refused.ts";

/** A directory to save files in, by paths from outside: nothing outside it is ever written. */
export type TargetFolder = {
  create(path: string): Promise<NewFile>;
  close(): Promise<void>;
};

/** Makes the directory if need be. On Linux it makes no difference what somebody renames meanwhile. */
export async function openTargetFolder(
  dir: string,
  platform: NodeJS.Platform = process.platform,
): Promise<TargetFolder> {
  makeDir(dir, 0o777);
  if (platform !== "linux") return { create: (path) => createInside(dir, path), close: async () => {} };
  // Loaded only here: it opens files by their descriptors, which no other system has.
  const { createBeneath } = await import("../../runtime/files/create-beneath.ts");
  const { openBase } = await import("../../runtime/files/open-beneath.ts");
  const base = await openBase(dir);
  return { create: (path) => createBeneath(base, path), close: () => base.close() };
}

/** Checks each directory on the way before it enters the next. */
async function createInside(dir: string, path: string): Promise<NewFile> {
  const names = namesIn(path);
  const name = names.pop()!;
  let folder = dir;
  for (const next of names) {
    folder = join(folder, next);
    await mkdir(folder).catch((error: unknown) => {
      if (!hasCode(error, "EEXIST")) throw error;
    });
    if (!(await lstat(folder)).isDirectory())
      throw new PathRefused("link", `${JSON.stringify(path)} is, or goes through, a symbolic link`);
  }
  const temporary = join(folder, `.${randomBytes(8).toString("hex")}.part`);
  const handle = await open(temporary, "wx", 0o666);
  let isKept = false;
  return {
    handle,
    async keep() {
      // Windows does not rename a file that is open.
      await handle.close();
      await rename(temporary, join(folder, name));
      isKept = true;
    },
    async discard() {
      if (isKept) return;
      await handle.close();
      // The draft has a name of its own: what is left of it does no harm.
      await unlink(temporary).catch(() => {});
    },
  };
}

/** A backslash or a drive would mean something else on Windows, so it is no part of a name anywhere here. */
function namesIn(path: string): string[] {
  const names = path.split("/");
  if (path.startsWith("/") || names.includes("..") || /[\\:]/.test(path))
    throw new PathRefused("outside", `${JSON.stringify(path)} leads out of its directory`);
  const problem = relativePathProblem(path);
  if (problem !== null) throw new PathRefused("invalid", `${JSON.stringify(path.slice(0, 200))} ${problem}`);
  const kept = names.filter((name) => name !== "" && name !== ".");
  if (kept.length > 0 && !["", "."].includes(names.at(-1)!)) return kept;
  throw new PathRefused("invalid", `${JSON.stringify(path)} names no file`);
}
