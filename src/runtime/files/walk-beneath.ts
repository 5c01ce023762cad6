import type { BigIntStats } from "node:fs";
import { type FileHandle, readdir } from "node:fs/promises";
import { hasCode } from "../../core/errors.ts";
import { openBeneath, openEntry, pathOf } from "./open-beneath.ts";
import { PathRefused } from "./path-refused.ts";

/** One name below a directory. The handle is open until the visitor returns. */
export type WalkedEntry = {
  /** Relative to the base. */
  path: string;
  name: string;
  /** The directory that contains it. */
  dir: FileHandle;
  /** It can be asked what it is, and `openContent` opens it. */
  entry: FileHandle;
  status: BigIntStats;
};

type WalkOptions = {
  /** A directory is visited before what is in it. `skip` leaves its content out. */
  visit(found: WalkedEntry): Promise<"skip" | undefined>;
  /** How many visits of one directory's files may be under way; by default one, in the order of names. */
  atOnce?: number;
  /** Called for names that are not UTF-8, directories that may not be read, and mount points. */
  leaveOut(path: string, why: string): void;
};

/** More than this below one directory is more than anybody wants to look at. */
const entriesMax = 100_000;

export class TooManyEntries extends Error {
  constructor() {
    super(`there are more than ${entriesMax} files and folders`);
    this.name = "TooManyEntries";
  }
}

/**
 * Walks a path beneath a directory and everything below it, by descriptor: each name is opened in the directory that was
 * opened before, no link is followed and no other file system entered, so it makes no difference what somebody renames
 * meanwhile. An empty path is the directory itself; a path that is not there, or goes through a link, is an empty walk.
 */
export async function walkBeneath(base: FileHandle, path: string, walk: WalkOptions): Promise<void> {
  const { dev } = await base.stat({ bigint: true });
  const walker = new Walker(walk, dev);
  if (path === "") return walker.descend(base, "");
  const slash = path.lastIndexOf("/");
  const dir = slash === -1 ? base : await openDirectory(base, path.slice(0, slash));
  if (dir === null) return;
  try {
    await walker.enter(dir, path.slice(slash + 1), path);
  } finally {
    if (dir !== base) await dir.close();
  }
}

class Walker {
  readonly #walk: WalkOptions;
  readonly #dev: bigint;
  #entriesLeft = entriesMax;

  constructor(walk: WalkOptions, dev: bigint) {
    this.#walk = walk;
    this.#dev = dev;
  }

  async descend(dir: FileHandle, at: string): Promise<void> {
    const names = await this.#namesIn(dir, at);
    const { atOnce = 1 } = this.#walk;
    const left = atOnce === 1 ? names : await this.#visitFiles(dir, at, { names, atOnce });
    for (const name of left) await this.enter(dir, name, joined(at, name));
  }

  /** Visits the files among these names, several at once. Returns the directories, which are entered one after the other. */
  async #visitFiles(
    dir: FileHandle,
    at: string,
    { names, atOnce }: { names: readonly string[]; atOnce: number },
  ): Promise<string[]> {
    const directories: string[] = [];
    const rest = names.values();
    const lane = async (): Promise<void> => {
      for (const name of rest)
        if (await this.enter(dir, name, joined(at, name), "file")) directories.push(name);
    };
    // Every lane ends before the directory is closed, also when one of them fails.
    const ends = await Promise.allSettled(Array.from({ length: Math.min(atOnce, names.length) }, lane));
    const failed = ends.find((end) => end.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return directories.sort();
  }

  /** With `only`, a directory is left for later; returns whether it was. */
  async enter(dir: FileHandle, name: string, path: string, only?: "file"): Promise<boolean> {
    const entry = await openEntry(dir, name).catch(unlessGone);
    if (entry === undefined) return false;
    try {
      const status = await entry.stat({ bigint: true });
      if (only === "file" && status.isDirectory()) return true;
      if (this.#entriesLeft-- === 0) throw new TooManyEntries();
      if (status.dev !== this.#dev) {
        this.#walk.leaveOut(path, "is on another file system");
        return false;
      }
      const way = await this.#walk.visit({ path, name, dir, entry, status });
      if (way !== "skip" && status.isDirectory()) await this.descend(entry, path);
      return false;
    } finally {
      await entry.close();
    }
  }

  async #namesIn(dir: FileHandle, at: string): Promise<string[]> {
    const names: string[] = [];
    try {
      for (const bytes of await readdir(pathOf(dir), { encoding: "buffer" })) {
        const name = bytes.toString("utf8");
        if (Buffer.from(name).equals(bytes)) names.push(name);
        else this.#walk.leaveOut(joined(at, name), "has a name that is not UTF-8");
      }
    } catch (error) {
      if (!hasCode(error, "EACCES", "EPERM")) throw error;
      this.#walk.leaveOut(at, "may not be read");
    }
    return names.sort((left, right) => (left < right ? -1 : 1));
  }
}

async function openDirectory(base: FileHandle, path: string): Promise<FileHandle | null> {
  try {
    return await openBeneath(base, path, "directory");
  } catch (error) {
    if (error instanceof PathRefused) return null;
    throw error;
  }
}

function joined(dir: string, name: string): string {
  return dir === "" ? name : `${dir}/${name}`;
}

/** One that was removed since it was seen is simply not there any more. */
function unlessGone(error: unknown): undefined {
  if (!hasCode(error, "ENOENT", "EACCES")) throw error;
}
