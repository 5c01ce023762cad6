import { type FileHandle, rm, rmdir, stat } from "node:fs/promises";
import { dirname, sep } from "node:path";
import { WritError } from "../core/errors.ts";
import { OpenFiles } from "./open-files.ts";
import { jobOutputDir, outputPath, shortPath } from "./output-path.ts";

export { jobOutputDir, type OutputStream, outputPath } from "./output-path.ts";

export type OutputLogOptions = {
  /** How many descriptors are held at most. */
  openFilesMax?: number;
  /** Called as `log.midWrite` between the pieces of a large append. */
  failpoint?: (name: string) => void | Promise<void>;
};

const OPEN_FILES_MAX = 256;
// One write of a thread of the pool; more at once would hold up everybody else's files.
const WRITE_BYTES_MAX = 1024 * 1024;

/**
 * Append-only files of what jobs have said. Bytes are addressed by offset: a sender that repeats itself
 * after a lost answer, or comes back through another hub, can neither leave a gap nor write anything twice.
 */
export class OutputLog {
  readonly #files: OpenFiles;
  readonly #failpoint: (name: string) => void | Promise<void>;

  constructor(options: OutputLogOptions = {}) {
    this.#files = new OpenFiles(options.openFilesMax ?? OPEN_FILES_MAX);
    this.#failpoint = options.failpoint ?? (() => {});
  }

  /** Appends when `offset` is the present size, else throws OUTPUT_OFFSET with that size. */
  async appendAt(path: string, offset: number, bytes: Uint8Array): Promise<{ size: number }> {
    try {
      return await this.#files.use(path, (handle) => this.#append(handle, offset, bytes));
    } catch (error) {
      throw asOutputError(error, path);
    }
  }

  sizeOf(path: string): Promise<number> {
    return sizeOf(path);
  }

  /** Returns when everything appended so far would survive a power failure. */
  async sync(path: string): Promise<void> {
    if ((await sizeOf(path)) === 0) return;
    try {
      await this.#files.use(path, (handle) => handle.datasync());
    } catch (error) {
      throw asOutputError(error, path);
    }
  }

  /** Forgets everything that a job has said. */
  async removeOutputs(root: string, jobId: string): Promise<void> {
    const dir = jobOutputDir(root, jobId);
    await this.#files.close((path) => path.startsWith(dir + sep));
    await rm(dir, { recursive: true, force: true });
  }

  /** Forgets what some attempts of a job have said; what other attempts say at the same time is safe. */
  async removeAttempts(root: string, jobId: string, attempts: number[]): Promise<void> {
    const dir = jobOutputDir(root, jobId);
    for (const attempt of attempts) {
      const attemptDir = dirname(outputPath(root, jobId, attempt, "stdout"));
      await this.#files.close((path) => path.startsWith(attemptDir + sep));
      await rm(attemptDir, { recursive: true, force: true });
    }
    // Not when there is another attempt in it. One that begins at this very moment is told to try again.
    await rmdir(dir).catch(() => {});
  }

  /** Closes all files. Another append opens them again. */
  async close(): Promise<void> {
    await this.#files.close();
  }

  async #append(handle: FileHandle, offset: number, bytes: Uint8Array): Promise<{ size: number }> {
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
