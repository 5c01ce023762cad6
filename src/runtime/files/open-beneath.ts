import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { hasCode } from "../../core/errors.ts";
import { relativePathProblem } from "../../core/path-rules.ts";
import { PathRefused } from "./path-refused.ts";

/** Node has no name for it. A descriptor opened with it can be asked what it is, and nothing else: no pipe waits. */
const openPath = 0o10000000;
const { O_NOFOLLOW, O_DIRECTORY, O_RDONLY, O_NONBLOCK } = constants;

/** Opens a directory that we trust, as the base of paths that we do not trust. */
export function openBase(dir: string): Promise<FileHandle> {
  return open(dir, openPath | O_DIRECTORY | O_NOFOLLOW);
}

/**
 * Opens a plain file or a directory by a path from outside that stays beneath `base`. The path is walked component by
 * component, each one opened in the directory that was opened before, so it makes no difference what somebody renames
 * or replaces meanwhile. Throws PathRefused. Why: ADR 0042.
 */
export async function openBeneath(
  base: FileHandle,
  path: string,
  kind: "file" | "directory" = "file",
): Promise<FileHandle> {
  const names = namesIn(path);
  let at: FileHandle | undefined;
  try {
    for (const [index, name] of names.entries()) {
      const next = await openEntry(at ?? base, name);
      await at?.close();
      at = next;
      await checkKind(at, { path, isDirectory: index < names.length - 1 || kind === "directory" });
    }
    if (kind === "directory") return at!;
    const file = await openContent(at!);
    await at!.close();
    return file;
  } catch (error) {
    // The first error is the one to report.
    await at?.close().catch(() => {});
    throw refusalOf(error, path);
  }
}

/** Opens one name in a directory, whatever it is, and follows no link. It can be asked what it is, and nothing else. */
export function openEntry(dir: FileHandle, name: string): Promise<FileHandle> {
  return open(`${pathOf(dir)}/${name}`, openPath | O_NOFOLLOW);
}

/** Opens a plain file for reading that `openEntry` has opened. */
export function openContent(entry: FileHandle): Promise<FileHandle> {
  return open(pathOf(entry), O_RDONLY | O_NONBLOCK);
}

/** By this path the kernel finds what the descriptor has open, whatever it is called now. */
export function pathOf({ fd }: Pick<FileHandle, "fd">): string {
  return `/proc/self/fd/${fd}`;
}

function namesIn(path: string): string[] {
  const names = path.split("/");
  if (path.startsWith("/") || names.includes("..")) {
    throw new PathRefused("outside", `${JSON.stringify(path)} leads out of its directory`);
  }
  const problem = relativePathProblem(path);
  if (problem !== null) throw new PathRefused("invalid", `${JSON.stringify(shortened(path))} ${problem}`);
  return names.filter((name) => name !== "" && name !== ".");
}

/** Errors that only say what is there; any other is trouble of this machine. */
function refusalOf(error: unknown, path: string): unknown {
  const quoted = JSON.stringify(shortened(path));
  if (hasCode(error, "ENOENT", "ENOTDIR")) return new PathRefused("missing", `${quoted} does not exist`);
  if (hasCode(error, "ENAMETOOLONG"))
    return new PathRefused("invalid", `${quoted} has a name that is too long`);
  if (hasCode(error, "EACCES", "EPERM")) return new PathRefused("other-kind", `${quoted} may not be read`);
  return error;
}

async function checkKind(
  handle: FileHandle,
  { path, isDirectory }: { path: string; isDirectory: boolean },
): Promise<void> {
  const status = await handle.stat();
  const quoted = JSON.stringify(shortened(path));
  if (status.isSymbolicLink())
    throw new PathRefused("link", `${quoted} is, or goes through, a symbolic link`);
  if (isDirectory ? !status.isDirectory() : !status.isFile()) {
    throw new PathRefused("other-kind", `${quoted} is not a ${isDirectory ? "directory" : "plain file"}`);
  }
  // A hard link needs no right to read what it links to.
  if (!isDirectory && status.nlink > 1)
    throw new PathRefused("link", `${quoted} has a second name (a hard link)`);
}

function shortened(path: string): string {
  return path.length <= 200 ? path : `${path.slice(0, 200)}…`;
}
