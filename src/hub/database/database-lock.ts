import { existsSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { WritError } from "../../core/errors.ts";
import { type FileLock, tryLockFile } from "../../runtime/files/file-lock.ts";
import { writePrivateFileSync } from "../../runtime/files/private-file.ts";

/** The holder of the lock, for the message to a second hub. */
type Holder = { home: string; pid: number };

/**
 * Allows one hub per database, even through different homes or links. The lock is beside the file and not in it:
 * programs that only read the database, such as a backup, must not be kept out. Why: ADR 0030.
 */
export function lockDatabase(path: string, home: string): FileLock {
  const real = realPathOf(path);
  const lock = tryLockFile(`${real}.lock`);
  if (lock === null) {
    throw new WritError(
      "CONFIG_INVALID",
      `SQLITE_PATH: another hub uses ${path}${holderOf(real)}; stop it, or name another file`,
    );
  }
  writePrivateFileSync(holderPath(real), `${JSON.stringify({ home, pid: process.pid } satisfies Holder)}\n`);
  return {
    release() {
      rmSync(holderPath(real), { force: true });
      lock.release();
    },
  };
}

const holderPath = (real: string): string => `${real}.hub.json`;

function realPathOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const folder = dirname(path);
  if (!existsSync(folder))
    throw new WritError(
      "CONFIG_INVALID",
      `SQLITE_PATH: the folder ${folder} does not exist; make it first, or name another file`,
    );
  return join(realpathSync(folder), basename(path));
}

function holderOf(real: string): string {
  try {
    const { home, pid } = JSON.parse(readFileSync(holderPath(real), "utf8")) as Holder;
    return ` (home ${home}, process ${pid})`;
  } catch {
    // The file is missing or half written: the refusal then names the database only.
    return "";
  }
}
