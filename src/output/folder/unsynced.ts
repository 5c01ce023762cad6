import { open } from "node:fs/promises";
import { dirname, sep } from "node:path";
import { hasCode } from "../../core/errors.ts";

/** What a power failure could still lose of one job's output. */
type UnsyncedJob = {
  /** Bytes that are written but not synced, by file. */
  bytes: Map<string, number>;
  /** Folders with a new name in them that is not synced, each with the number of the newest. */
  dirs: Map<string, number>;
  rounds: number;
};

/** Remembers, by job folder, what was written and may not be on the disk yet. */
export class Unsynced {
  readonly #jobs = new Map<string, UnsyncedJob>();
  #names = 0;

  get isEmpty(): boolean {
    return this.#jobs.size === 0;
  }

  get(jobDir: string): UnsyncedJob | undefined {
    return this.#jobs.get(jobDir);
  }

  bytesOf(path: string): number {
    return this.#jobs.get(jobDirOf(path))?.bytes.get(path) ?? 0;
  }

  /** Returns how many bytes of the file are unsynced now. */
  wrote(path: string, bytes: number): number {
    if (bytes === 0) return this.bytesOf(path);
    const job = this.#jobOf(jobDirOf(path));
    const sum = (job.bytes.get(path) ?? 0) + bytes;
    job.bytes.set(path, sum);
    return sum;
  }

  /** A file, or folders on the way to it, are new; `firstDir` is the topmost of them. */
  made(path: string, firstDir: string | undefined): void {
    const { dirs } = this.#jobOf(jobDirOf(path));
    this.#names++;
    const last = firstDir === undefined ? dirname(path) : dirname(firstDir);
    // A name is stored in the folder above, so that folder needs the sync.
    for (let dir = dirname(path); dir.length >= last.length; dir = dirname(dir)) dirs.set(dir, this.#names);
  }

  synced(path: string, bytes: number): void {
    const job = this.#jobs.get(jobDirOf(path));
    const left = (job?.bytes.get(path) ?? 0) - bytes;
    if (left > 0) job?.bytes.set(path, left);
    else job?.bytes.delete(path);
  }

  /**
   * Counts one more round. Returns at most `max` jobs that have waited for `rounds` rounds; their count starts again.
   */
  overdue({ rounds, max }: { rounds: number; max: number }): string[] {
    const overdue: string[] = [];
    for (const [jobDir, job] of this.#jobs) {
      job.rounds++;
      if (job.rounds < rounds || overdue.length >= max) continue;
      job.rounds = 0;
      overdue.push(jobDir);
    }
    return overdue;
  }

  forgetIfSynced(jobDir: string): void {
    const job = this.#jobs.get(jobDir);
    if (job?.bytes.size === 0 && job.dirs.size === 0) this.#jobs.delete(jobDir);
  }

  /** What is removed needs no sync. */
  removed(dir: string, jobDir: string): void {
    const job = this.#jobs.get(jobDir);
    for (const path of job?.bytes.keys() ?? []) if (path.startsWith(dir + sep)) job?.bytes.delete(path);
    job?.dirs.delete(dir);
    if (dir === jobDir) this.#jobs.delete(jobDir);
    else this.forgetIfSynced(jobDir);
  }

  #jobOf(jobDir: string): UnsyncedJob {
    const job = this.#jobs.get(jobDir) ?? { bytes: new Map(), dirs: new Map(), rounds: 0 };
    this.#jobs.set(jobDir, job);
    return job;
  }
}

/** The reverse of `outputPath`: above the file is its attempt, and above that the job. */
function jobDirOf(path: string): string {
  return dirname(dirname(path));
}

/** Resolves when the names in a folder would survive a power failure. A folder that was removed has none. */
export async function syncDir(dir: string): Promise<void> {
  try {
    const handle = await open(dir, "r");
    await handle.sync().finally(() => handle.close());
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}
