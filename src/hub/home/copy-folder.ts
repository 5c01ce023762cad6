import { statfs } from "node:fs/promises";
import { basename } from "node:path";
import { codeOf, hasCode, isDiskFull, WritError } from "../../core/errors.ts";
import { makeWorkFolder, type WorkFolder } from "../../runtime/files/work-folder.ts";

/** How the folders begin in which a backup, the sample of an upgrade and a restore make copies of jobs. Why: ADR 0135. */
export const backupPrefix = ".backup-";
export const takeOverPrefix = ".take-over-";
export const restorePrefix = (home: string): string => `.${basename(home)}.restore-`;

/** A folder for a copy that the command needs; `purpose` is the command, for the sentence if there can be none. */
export function makeCopyFolder(dir: string, prefix: string, purpose: string): WorkFolder {
  try {
    return makeWorkFolder(dir, prefix);
  } catch (error) {
    if (isDiskFull(error) || hasCode(error, "STORE_UNAVAILABLE")) throw noRoomFor(dir, purpose);
    if (!hasCode(error, "EROFS", "EACCES", "EPERM", "CONFIG_INVALID")) throw error;
    throw new WritError(
      "CONFIG_INVALID",
      `${dir} cannot be written (${codeOf(error)}), and ${purpose} makes a copy there first; nothing was changed`,
      { advice: "copy the home to a disk that can be written, with `cp -a`, and name the copy with --home" },
    );
  }
}

export function noRoomFor(dir: string, purpose: string): WritError {
  const message = `the disk of ${dir} is full: ${purpose} needs room for a copy of the database there; nothing was written`;
  return new WritError("STORE_UNAVAILABLE", message, { advice: "make room and try again" });
}

const sqliteFull = 13;
const sqliteIoError = 10;

/** Without room for a single page, SQLite cannot open the database and reports only an I/O error. */
export async function isForLackOfRoom(error: unknown, dir: string): Promise<boolean> {
  if (isDiskFull(error)) return true;
  const errcode = error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : undefined;
  if (errcode !== sqliteIoError) return errcode === sqliteFull;
  return (await statfs(dir)).bavail === 0;
}
