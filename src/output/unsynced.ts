import { open } from "node:fs/promises";
import { dirname, sep } from "node:path";

/** What a power failure could still take of one job's output. */
export type Doubt = {
  /** Bytes that are written and not synced, by file. */
  bytes: Map<string, number>;
  /** Folders with a name in them that is not synced. */
  dirs: Set<string>;
  rounds: number;
};

/** Remembers, by the folder of a job, what was written and is not known to be on the disk. */
export class Unsynced {
  readonly #doubts = new Map<string, Doubt>();

  get(jobDir: string): Doubt | undefined {
    return this.#doubts.get(jobDir);
  }

  bytesOf(path: string): number {
    return this.#doubts.get(jobDirOf(path))?.bytes.get(path) ?? 0;
  }

  /** Gives how many bytes of the file are in doubt now. */
  wrote(path: string, bytes: number): number {
    if (bytes === 0) return this.bytesOf(path);
    const doubt = this.#doubtOf(jobDirOf(path));
    const sum = (doubt.bytes.get(path) ?? 0) + bytes;
    doubt.bytes.set(path, sum);
    return sum;
  }

  /** A file, or the folders on the way to it, are new: `firstDir` is the uppermost of these. */
  made(path: string, firstDir: string | undefined): void {
    const { dirs } = this.#doubtOf(jobDirOf(path));
    const last = firstDir === undefined ? dirname(path) : dirname(firstDir);
    // A name is kept by the folder above, so that one needs the sync.
    for (let dir = dirname(path); dir.length >= last.length; dir = dirname(dir)) dirs.add(dir);
  }

  synced(path: string, bytes: number): void {
    const doubt = this.#doubts.get(jobDirOf(path));
    const left = (doubt?.bytes.get(path) ?? 0) - bytes;
    if (left > 0) doubt?.bytes.set(path, left);
    else doubt?.bytes.delete(path);
  }

  /** Another round has passed. Gives the jobs that have been in doubt for so many, each once for so many again. */
  growOld({ rounds, max }: { rounds: number; max: number }): string[] {
    const old: string[] = [];
    for (const [jobDir, doubt] of this.#doubts) {
      doubt.rounds++;
      if (doubt.rounds < rounds || old.length >= max) continue;
      doubt.rounds = 0;
      old.push(jobDir);
    }
    return old;
  }

  /** Forgets a job of which nothing is in doubt any more. */
  settle(jobDir: string): void {
    const doubt = this.#doubts.get(jobDir);
    if (doubt?.bytes.size === 0 && doubt.dirs.size === 0) this.#doubts.delete(jobDir);
  }

  /** What is removed is in no doubt. */
  removed(dir: string, jobDir: string): void {
    const doubt = this.#doubts.get(jobDir);
    for (const path of doubt?.bytes.keys() ?? []) if (path.startsWith(dir + sep)) doubt?.bytes.delete(path);
    doubt?.dirs.delete(dir);
    if (dir === jobDir) this.#doubts.delete(jobDir);
    else this.settle(jobDir);
  }

  #doubtOf(jobDir: string): Doubt {
    const doubt = this.#doubts.get(jobDir) ?? { bytes: new Map(), dirs: new Set(), rounds: 0 };
    this.#doubts.set(jobDir, doubt);
    return doubt;
  }
}

/** The other way round than `outputPath`: above the file is its attempt, and above that the job. */
function jobDirOf(path: string): string {
  return dirname(dirname(path));
}

/** Returns when the names in a folder would survive a power failure. One that was removed has none. */
export async function syncDir(dir: string): Promise<void> {
  try {
    const handle = await open(dir, "r");
    await handle.sync().finally(() => handle.close());
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
