import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lchown, mkdir, open, rename, unlink } from "node:fs/promises";
import { hasCode } from "../../core/errors.ts";
import type { NewFile } from "./new-file.ts";
import { openBeneath, pathOf } from "./open-beneath.ts";
import { PathRefused } from "./path-refused.ts";

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

/**
 * Begins a file at a path from outside that stays beneath `base`; missing directories are made. Like `openBeneath`, it
 * goes through no link, so nothing outside is changed whatever is there. Throws PathRefused.
 */
export async function createBeneath(base: FileHandle, path: string): Promise<NewFile> {
  const names = path.split("/");
  const name = names.pop() ?? "";
  if (["", ".", ".."].includes(name))
    throw new PathRefused("invalid", `${JSON.stringify(path)} names no file`);
  const dir = names.length === 0 ? null : await makeDirectoryBeneath(base, names);
  const at = (file: string): string => `${pathOf(dir ?? base)}/${file}`;
  const temporary = `.${randomBytes(8).toString("hex")}.part`;
  let isKept = false;
  try {
    const handle = await open(at(temporary), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
    return {
      handle,
      async keep() {
        await rename(at(temporary), at(name));
        isKept = true;
      },
      async discard() {
        await handle.close();
        // The draft has a name of its own: what is left of it does no harm.
        if (!isKept) await unlink(at(temporary)).catch(() => {});
        await dir?.close();
      },
    };
  } catch (error) {
    await dir?.close();
    throw error;
  }
}

/** How directories that are made here look. */
type NewDirectory = { mode?: number; owner?: { uid: number; gid: number } | undefined };

/** Opens the directory of these names below `base`, and makes what is missing of it. Goes through no link. */
export async function makeDirectoryBeneath(
  base: FileHandle,
  names: readonly string[],
  made: NewDirectory = {},
): Promise<FileHandle> {
  for (let length = 1; length < names.length + 1; length++) {
    const path = names.slice(0, length).join("/");
    try {
      await (await openBeneath(base, path, "directory")).close();
    } catch (error) {
      if (!(error instanceof PathRefused) || error.refusal !== "missing") throw error;
      await makeOne(base, names.slice(0, length), made);
    }
  }
  return openBeneath(base, names.join("/"), "directory");
}

/** Somebody else may have made it meanwhile. */
async function makeOne(
  base: FileHandle,
  names: readonly string[],
  { mode = 0o777, owner }: NewDirectory,
): Promise<void> {
  const above =
    names.length === 1 ? null : await openBeneath(base, names.slice(0, -1).join("/"), "directory");
  try {
    const place = `${pathOf(above ?? base)}/${names.at(-1)}`;
    await mkdir(place, { mode });
    if (owner !== undefined) await lchown(place, owner.uid, owner.gid);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    await above?.close();
  }
}
