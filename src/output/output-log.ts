import { type FileHandle, readdir, rm, rmdir, stat } from "node:fs/promises";
import { dirname, sep } from "node:path";
import { WritError } from "../core/errors.ts";
import { OpenFiles } from "./open-files.ts";
import { jobOutputDir, outputPath, shortPath } from "./output-path.ts";
import { Turns } from "./turns.ts";
import { syncDir, Unsynced } from "./unsynced.ts";

export { jobOutputDir, type OutputStream, outputPath } from "./output-path.ts";

export type OutputLogOptions = {
  /** How many descriptors are held at most. */
  openFilesMax?: number;
  /** Called as `log.midWrite` between the pieces of a large append, as `log.sync` and `log.syncDir` before a sync. */
  failpoint?: (name: string) => void | Promise<void>;
};

const OPEN_FILES_MAX = 256;
// So much of one output waits for a sync at most: a second or two of a plain disk.
const UNSYNCED_BYTES_MAX = 32 * 1024 * 1024;
// When nobody asks: after half a minute, as the kernel would, and no more jobs in a round than take a second or two.
const OLD_ROUNDS = 6;
const OLD_JOBS_MAX = 64;
// A sync may hold a thread for long, and Node's pool has four: one is always left to those who read and append.
const SYNCS_AT_ONCE = 3;
// One write of a thread of the pool; more at once would hold up everybody else's files.
const WRITE_BYTES_MAX = 1024 * 1024;

/**
 * Append-only files of what jobs have said. Bytes are addressed by offset: a sender that repeats itself
 * after a lost answer, or comes back through another hub, can neither leave a gap nor write anything twice.
 */
export class OutputLog {
  readonly #files: OpenFiles;
  readonly #unsynced = new Unsynced();
  readonly #syncs = new Turns(SYNCS_AT_ONCE);
  /** Folders of jobs of which nobody knows what is synced. */
  readonly #doubted = new Set<string>();
  readonly #failpoint: (name: string) => void | Promise<void>;

  constructor(options: OutputLogOptions = {}) {
    this.#files = new OpenFiles(options.openFilesMax ?? OPEN_FILES_MAX, (path, firstDir) =>
      this.#unsynced.made(path, firstDir),
    );
    this.#failpoint = options.failpoint ?? (() => {});
  }

  /** Appends when `offset` is the present size, else throws OUTPUT_OFFSET with that size. */
  async appendAt(path: string, offset: number, bytes: Uint8Array): Promise<{ size: number }> {
    try {
      return await this.#files.use(path, (handle) => this.#append({ path, handle }, offset, bytes));
    } catch (error) {
      throw asOutputError(error, path);
    }
  }

  sizeOf(path: string): Promise<number> {
    return sizeOf(path);
  }

  /** Nobody knows how much of a job's output is synced, because somebody before us wrote it. */
  doubt(root: string, jobId: string): void {
    this.#doubted.add(jobOutputDir(root, jobId));
  }

  /**
   * Returns when everything that a job has said so far would survive a power failure. What has been synced before, and
   * a job that has said nothing, cost nothing.
   */
  async syncJob(root: string, jobId: string): Promise<void> {
    const dir = jobOutputDir(root, jobId);
    try {
      if (this.#doubted.has(dir)) await this.#lookAt(root, jobId);
      await this.#syncDoubt(dir);
      this.#doubted.delete(dir);
    } catch (error) {
      throw asOutputError(error, dir);
    }
  }

  /**
   * Syncs what has been in doubt for some rounds, because its job is silent or nobody will report its end. A round is
   * a call of this, and syncs a bounded number of jobs one after the other, so that others get to the disk too.
   */
  async syncOld(signal: AbortSignal): Promise<void> {
    for (const jobDir of this.#unsynced.growOld({ rounds: OLD_ROUNDS, max: OLD_JOBS_MAX })) {
      if (signal.aborted) return;
      await this.#syncDoubt(jobDir);
    }
  }

  /** Forgets everything that a job has said. */
  async removeOutputs(root: string, jobId: string): Promise<void> {
    const dir = jobOutputDir(root, jobId);
    await this.#files.close((path) => path.startsWith(dir + sep));
    this.#doubted.delete(dir);
    this.#unsynced.removed(dir, dir);
    await rm(dir, { recursive: true, force: true });
  }

  /** Forgets what some attempts of a job have said; what other attempts say at the same time is safe. */
  async removeAttempts(root: string, jobId: string, attempts: number[]): Promise<void> {
    const dir = jobOutputDir(root, jobId);
    for (const attempt of attempts) {
      const attemptDir = dirname(outputPath(root, jobId, attempt, "stdout"));
      await this.#files.close((path) => path.startsWith(attemptDir + sep));
      this.#unsynced.removed(attemptDir, dir);
      await rm(attemptDir, { recursive: true, force: true });
    }
    // Not when there is another attempt in it. One that begins at this very moment is told to try again.
    await rmdir(dir).catch(() => {});
  }

  /** Closes all files. Another append opens them again. */
  async close(): Promise<void> {
    await this.#files.close();
  }

  async #syncDoubt(jobDir: string): Promise<void> {
    const doubt = this.#unsynced.get(jobDir);
    if (doubt === undefined) return;
    await Promise.all(Array.from(doubt.bytes.keys(), (path) => this.#syncFile(path)));
    // After the files: their sync has written most of it, and a name without its bytes is worth nothing.
    await Promise.all(
      Array.from(doubt.dirs, async (dir) => {
        await this.#syncs.take(() => this.#guarded("log.syncDir", () => syncDir(dir)));
        doubt.dirs.delete(dir);
      }),
    );
    this.#unsynced.settle(jobDir);
  }

  /** In its turn, so that it covers every append before it; one that was covered meanwhile is not synced again. */
  async #syncFile(path: string): Promise<void> {
    await this.#files.use(path, async (handle) => {
      const bytes = this.#unsynced.bytesOf(path);
      if (bytes === 0) return;
      await this.#syncs.take(() => this.#guarded("log.sync", () => handle.datasync()));
      this.#unsynced.synced(path, bytes);
    });
  }

  async #guarded(name: string, act: () => Promise<void>): Promise<void> {
    await this.#failpoint(name);
    await act();
  }

  /** Puts everything that lies in a job's folder, and the way to it, in doubt. */
  async #lookAt(root: string, jobId: string): Promise<void> {
    const names = await readdir(jobOutputDir(root, jobId)).catch(nothingIfMissing);
    for (const attempt of names.map(Number).filter((name) => Number.isSafeInteger(name) && name > 0)) {
      for (const stream of ["stdout", "stderr"] as const) {
        const path = outputPath(root, jobId, attempt, stream);
        const size = await sizeOf(path);
        if (size === 0) continue;
        this.#unsynced.wrote(path, size);
        this.#unsynced.made(path, dirname(jobOutputDir(root, jobId)));
      }
    }
  }

  async #append(file: OpenPath, offset: number, bytes: Uint8Array): Promise<{ size: number }> {
    const { path, handle } = file;
    // Asked of the file each time: on a shared folder another hub may have appended meanwhile.
    const { size } = await handle.stat();
    if (offset !== size) {
      throw new WritError(
        "OUTPUT_OFFSET",
        `offset ${offset} is not the end of the output, which has ${size} bytes`,
        { size },
      );
    }
    try {
      await this.#write(handle, offset, bytes);
    } catch (error) {
      // All or nothing. Should even this fail, the size tells the sender from where to go on.
      await handle.truncate(size).catch(() => {});
      throw error;
    }
    const unsynced = this.#unsynced.wrote(path, bytes.length);
    // These bytes must reach the disk anyway. On the way, the end of a long output finds little that it must wait for;
    // should it fail, that end tries again and tells.
    if (unsynced >= UNSYNCED_BYTES_MAX && unsynced - bytes.length < UNSYNCED_BYTES_MAX)
      void this.#syncFile(path).catch(() => {});
    return { size: size + bytes.length };
  }

  /** Writes name their position, so two hubs with the same chunk write the same bytes to the same place. */
  async #write(handle: FileHandle, offset: number, bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      if (done > 0) await this.#failpoint("log.midWrite");
      const length = Math.min(bytes.length - done, WRITE_BYTES_MAX);
      const { bytesWritten } = await handle.write(bytes, done, length, offset + done);
      // No progress and no error would otherwise be a loop without an end.
      if (bytesWritten === 0) throw Object.assign(new Error("nothing was written"), { code: "EIO" });
      done += bytesWritten;
    }
  }
}

function nothingIfMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === "ENOENT") return [];
  throw error;
}

type OpenPath = { path: string; handle: FileHandle };

/** The size of an output, 0 when there is none yet. */
export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw asOutputError(error, path);
  }
}

const fullDisk = new Set(["ENOSPC", "EDQUOT"]);

/** A disk that is full or broken is told apart from our own refusals, with its reason for the job's record. */
export function asOutputError(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  // An AbortError has a code too, but a number: it is the caller's own doing and no fault of the file.
  if (error instanceof WritError || typeof code !== "string") return error;
  const what = fullDisk.has(code)
    ? `the disk is full (${code}): nothing more of output ${shortPath(path)} was kept; send it again when there is room`
    : `output ${shortPath(path)} cannot be used: ${code}`;
  return new WritError("OUTPUT_UNAVAILABLE", what, { reason: code });
}
