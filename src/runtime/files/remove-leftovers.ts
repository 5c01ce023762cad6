import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../core/errors.ts";
import type { Logger } from "../log/logger.ts";

/** Nothing of ours takes so long that a file from before could still be in use. */
const oldMs = 86_400_000;

type LeftoverFolder = {
  dir: string;
  /** Looks into the folders in it too. */
  isDeep?: boolean;
  isLeftover(name: string): boolean;
};

/**
 * Removes what programs that were killed have left half-written: what has a name that we give, belongs to this user and
 * is older than a day. A failure is logged and does not prevent the start.
 */
export async function removeLeftovers(
  folders: readonly LeftoverFolder[],
  { nowMs, uid, logger }: { nowMs: number; uid: number | undefined; logger: Logger },
): Promise<void> {
  for (const { dir, isDeep = false, isLeftover } of folders) {
    // A folder that does not exist has no leftovers.
    const names = await readdir(dir, { withFileTypes: true, recursive: isDeep }).catch(() => []);
    for (const { parentPath, name } of names.filter((entry) => isLeftover(entry.name))) {
      const path = join(parentPath, name);
      try {
        const { uid: owner, mtimeMs } = await lstat(path);
        if (owner !== uid || nowMs - mtimeMs < oldMs) continue;
        await rm(path, { recursive: true, force: true });
        logger.info({ path }, "a file that a killed program had left was removed");
      } catch (error) {
        logger.warn({ path, code: codeOf(error) }, "a file that a killed program had left cannot be removed");
      }
    }
  }
}
