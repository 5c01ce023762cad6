import { fstatSync } from "node:fs";
import { type FileHandle, rm } from "node:fs/promises";
import { sep } from "node:path";
import { WritError } from "../../core/errors.ts";
import { Turns } from "../../runtime/clock/turns.ts";
import { OpenFiles } from "./open-files.ts";
import { asOutputError } from "./output-error.ts";
import { syncDir, Unsynced } from "./unsynced.ts";

export type OutputLogOptions = {
  /** The largest number of open descriptors. */
  openFilesMax?: number;
  /**
   * Called as `log.midWrite` between the pieces of a large append, and as `log.sync` and `log.syncDir` before a sync.
   */
  failpoint?: (name: string) => void | Promise<void>;
};

const openFilesMaxDefault = 256;
// No more of one output than this waits for a sync: an ordinary disk syncs it in a second or two.
const unsyncedBytesMax = 32 * 1024 * 1024;
// Without a request, output is synced after half a minute, as the kernel would do, and no more jobs per round than take
// a second or two.
const overdueRounds = 6;
const overdueJobsMax = 64;
// A sync may block a thread for long, and Node's pool has four; one is always left for reading and appending.
const syncsAtOnceMax = 3;
// The size of one write in the thread pool; larger writes would hold up the files of others.
const writeBytesMax = 1024 * 1024;

/** Append-only files, and which of their bytes a power failure could still lose. Why: ADR 0023. */
export class OutputLog {
  readonly #files: OpenFiles;
  readonly #unsynced = new Unsynced();
  readonly #syncs = new Turns(syncsAtOnceMax);
  readonly #failpoint: (name: string) => void | Promise<void>;

  constructor(options: OutputLogOptions = {}) {
    this.#files = new OpenFiles(options.openFilesMax ?? openFilesMaxDefault, (path, firstDir) =>
      this.#unsynced.made(path, firstDir),
    );
    this.#failpoint = options.failpoint ?? (() => {});
  }

  /** Appends if `offset` is the current size; otherwise throws OUTPUT_OFFSET with that size. */
  async appendAt(path: string, offset: number, bytes: Uint8Array): Promise<{ size: number }> {
    try {
      return await this.#files.use(path, (handle) => this.#append({ path, handle }, offset, bytes));
    } catch (error) {
      throw asOutputError(error, path);
    }
  }

  /** This much of a file was written by somebody else, and the folders from `firstDir` down to it were created. */
  noteUnsynced(path: string, bytes: number, firstDir: string): void {
    this.#unsynced.wrote(path, bytes);
    this.#unsynced.made(path, firstDir);
  }

  /** Whether nothing at all could be lost by a power failure. */
  get isSynced(): boolean {
    return this.#unsynced.isEmpty;
  }

  /** Resolves when everything written below a job's folder so far would survive a power failure. */
  async syncJob(jobDir: string): Promise<void> {
    const unsynced = this.#unsynced.get(jobDir);
    if (unsynced === undefined) return;
    await Promise.all(Array.from(unsynced.bytes.keys(), (path) => this.#syncFile(path)));
    // After the files: their sync has written most of it, and a name without its bytes is useless.
    await Promise.all(
      Array.from(unsynced.dirs, async ([dir, newest]) => {
        await this.#syncs.take(() => this.#guarded("log.syncDir", () => syncDir(dir)));
        // A name that came meanwhile may not be on the disk.
        if (unsynced.dirs.get(dir) === newest) unsynced.dirs.delete(dir);
      }),
    );
    this.#unsynced.forgetIfSynced(jobDir);
  }

  /** Syncs, one job after the other, what has waited for several calls of this. */
  async syncOverdue(signal: AbortSignal): Promise<void> {
    for (const jobDir of this.#unsynced.overdue({ rounds: overdueRounds, max: overdueJobsMax })) {
      if (signal.aborted) return;
      await this.syncJob(jobDir);
    }
  }

  /** Removes the folder of a job, or that of one of its attempts. */
  async remove(dir: string, jobDir: string): Promise<void> {
    await this.#files.close((path) => path.startsWith(dir + sep));
    this.#unsynced.removed(dir, jobDir);
    await rm(dir, { recursive: true, force: true });
  }

  /** Closes all files. Another append opens them again. */
  async close(): Promise<void> {
    await this.#files.close();
  }

  /**
   * Waits for its turn, so that it covers every append before it. A file that was synced meanwhile is not synced again.
   */
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

  async #append(file: OpenPath, offset: number, bytes: Uint8Array): Promise<{ size: number }> {
    const { path, handle } = file;
    // Read from the file each time, because on a shared folder another hub may have appended meanwhile.
    const { size } = fstatSync(handle.fd);
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
      // All or nothing. If even this fails, the size tells the sender where to continue.
      await handle.truncate(size).catch(() => {});
      throw error;
    }
    const unsynced = this.#unsynced.wrote(path, bytes.length);
    // These bytes must reach the disk anyway. Syncing on the way leaves little to wait for at the end of a long output.
    if (unsynced >= unsyncedBytesMax && unsynced - bytes.length < unsyncedBytesMax) {
      // If this fails, the sync at the end tries again and reports it.
      void this.#syncFile(path).catch(() => {});
    }
    return { size: size + bytes.length };
  }

  /** Writes give their position, so two hubs with the same chunk write the same bytes to the same place. */
  async #write(handle: FileHandle, offset: number, bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      if (done > 0) await this.#failpoint("log.midWrite");
      const length = Math.min(bytes.length - done, writeBytesMax);
      const { bytesWritten } = await handle.write(bytes, done, length, offset + done);
      // Otherwise, no progress without an error would be an endless loop.
      if (bytesWritten === 0) throw Object.assign(new Error("nothing was written"), { code: "EIO" });
      done += bytesWritten;
    }
  }
}

type OpenPath = { path: string; handle: FileHandle };
