import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, hasCode } from "../../core/errors.ts";
import type { Logger } from "../log/logger.ts";
import { findAbandoned, removeAbandoned } from "./work-folder.ts";

/** Nothing of ours takes so long that a file from before could still be in use. */
const oldMs = 86_400_000;

type LeftoverFolder = {
  dir: string;
  /** Looks into the folders in it too. */
  isDeep?: boolean;
  /** How the work folders of commands begin; they say themselves whether their command has died. */
  prefixes?: readonly string[];
  isLeftover(name: string): boolean;
};

type Rules = { nowMs: number; uid: number | undefined };

/**
 * Removes what programs that were killed have left half-written: work folders whose command has died, and what has a name that we give,
 * belongs to this user and is older than a day. A failure is logged and does not prevent the start. Returns what was removed.
 */
export async function removeLeftovers(
  folders: readonly LeftoverFolder[],
  { logger, ...rules }: Rules & { logger: Logger },
): Promise<string[]> {
  const removed: string[] = [];
  const attempt = async (path: string, remove: () => boolean | Promise<boolean>): Promise<void> => {
    try {
      if (!(await remove())) return;
      removed.push(path);
      logger.info({ path }, "a file that a killed program had left was removed");
    } catch (error) {
      logger.warn({ path, code: codeOf(error) }, "a file that a killed program had left cannot be removed");
    }
  };
  for (const folder of folders) {
    for (const path of abandonedIn(folder)) await attempt(path, () => removeAbandoned(path));
    for (const path of await namedIn(folder))
      await attempt(path, async () => {
        if (!(await isOldAndOwn(path, rules))) return false;
        await rm(path, { recursive: true, force: true });
        return true;
      });
  }
  return removed;
}

/** What `removeLeftovers` would remove. */
export async function findLeftovers(folders: readonly LeftoverFolder[], rules: Rules): Promise<string[]> {
  const found: string[] = [];
  for (const folder of folders) {
    const abandoned = abandonedIn(folder);
    found.push(...abandoned);
    for (const path of await namedIn(folder))
      if (!abandoned.includes(path) && (await isOldAndOwn(path, rules))) found.push(path);
  }
  return found;
}

function abandonedIn({ dir, prefixes = [] }: LeftoverFolder): string[] {
  return prefixes.flatMap((prefix) => findAbandoned(dir, prefix));
}

async function namedIn({ dir, isDeep = false, isLeftover }: LeftoverFolder): Promise<string[]> {
  // A folder that does not exist has no leftovers.
  const names = await readdir(dir, { withFileTypes: true, recursive: isDeep }).catch(() => []);
  return names.filter(({ name }) => isLeftover(name)).map(({ parentPath, name }) => join(parentPath, name));
}

async function isOldAndOwn(path: string, { nowMs, uid }: Rules): Promise<boolean> {
  try {
    const { uid: owner, mtimeMs } = await lstat(path);
    return owner === uid && nowMs - mtimeMs >= oldMs;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return false;
    throw error;
  }
}
