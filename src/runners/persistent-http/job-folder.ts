import { chmod, lstat, mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../../core/errors.ts";
import type { FifoStock } from "./fifo-stock.ts";
import { LogPipe } from "./log-pipe.ts";

type JobFolderOptions = {
  /**
   * The directory in which it is created and to which it returns; no worker process can reach it. It contains the job's
   * stdout.log and stderr.log.
   */
  attemptDir: string;
  /**
   * The directory that holds it while its worker process may use it: `/proc/self/fd/…`, because the process can replace
   * names on the way.
   */
  sharedDir: string;
  /** The same directory as its worker sees it. */
  sharedDirInside: string;
  name: string;
  /** The job's input files, which are moved into it. */
  inputsDir?: string | undefined;
  fifos: FifoStock;
  outputBytesMax: number;
  masks: readonly string[];
  onLimit(): void;
  onUnwritable(reason: string): void;
};

const privateName = "shared";
const outputName = "output";
const inputsName = "inputs";

/**
 * The folder that a job shares with the process that serves it: two pipes for its logs, its inputs and its output
 * directory. The folder is complete and its pipes are open before the process can see it, and it is moved as a whole,
 * so no link that a process plants leads anywhere. Why: ADR 0044.
 */
export class JobFolder {
  readonly #options: JobFolderOptions;
  readonly #pipes: readonly LogPipe[];

  static async hand(options: JobFolderOptions): Promise<JobFolder> {
    const dir = join(options.attemptDir, privateName);
    await mkdir(join(dir, outputName), { recursive: true });
    // The process runs as another user. Only it can get here, through its own directory.
    await chmod(dir, 0o755);
    await chmod(join(dir, outputName), 0o777);
    // The process does not own them, so it can read and not change them.
    if (options.inputsDir !== undefined) await rename(options.inputsDir, join(dir, inputsName));
    for (const pipe of ["out", "err"]) await rename(await options.fifos.take(), join(dir, pipe));
    const folder = new JobFolder(options, dir);
    try {
      await rename(dir, join(options.sharedDir, options.name));
      return folder;
    } catch (error) {
      for (const pipe of folder.#pipes) pipe.close();
      throw error;
    }
  }

  private constructor(options: JobFolderOptions, dir: string) {
    const { attemptDir, outputBytesMax: bytesMax, masks, onLimit, onUnwritable } = options;
    const limits = { bytesMax, masks, onLimit, onUnwritable };
    this.#options = options;
    this.#pipes = [
      new LogPipe({ fifo: join(dir, "out"), file: join(attemptDir, "stdout.log"), ...limits }),
      new LogPipe({ fifo: join(dir, "err"), file: join(attemptDir, "stderr.log"), ...limits }),
    ];
  }

  /** The paths that the worker is told. */
  get paths(): { logOut: string; logErr: string; outputDir: string } {
    const dir = join(this.#options.sharedDirInside, this.#options.name);
    return { logOut: join(dir, "out"), logErr: join(dir, "err"), outputDir: join(dir, outputName) };
  }

  /** Call it when the job has ended. Its logs are complete then, and its output directory is in `workDir`. */
  async takeBack(workDir: string): Promise<void> {
    const { attemptDir, sharedDir, name } = this.#options;
    for (const pipe of this.#pipes) pipe.close();
    const dir = join(attemptDir, privateName);
    // A move does not follow a link that the process may have put in place of the folder.
    const isBack = (await moved(join(sharedDir, name), dir)) && (await lstat(dir)).isDirectory();
    if (!isBack || !(await moved(join(dir, outputName), join(workDir, outputName)))) {
      await mkdir(join(workDir, outputName), { recursive: true, mode: 0o700 });
    }
  }
}

/** Resolves with false if it is gone because the process has removed or renamed it. */
async function moved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}
