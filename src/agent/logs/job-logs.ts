import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { codeOf, WritError } from "../../core/errors.ts";
import { LogPipe } from "../../runners/persistent-http/log-pipe.ts";
import type { StopReason } from "../../runners/runner.ts";
import type { JobFiles } from "../agent-settings.ts";

/** Of each stream. */
const outputBytesMax = 1024 ** 3;

/**
 * The two logs of a job. Whatever writes them, a process or an HTTP worker, is given pipes, and the agent copies from there
 * into the files: so secrets are masked before they are in any file, no log grows without end, and a disk that is full is
 * the agent's failure and not taken for the job's. Why: ADR 0055.
 */
export class JobLogs {
  readonly out: string;
  readonly err: string;
  readonly #pipes: readonly LogPipe[];
  readonly #trouble = new AbortController();
  #unwritable: string | undefined;

  static async open(files: JobFiles, masks: readonly string[]): Promise<JobLogs> {
    const paths = { out: join(files.dir, "out.pipe"), err: join(files.dir, "err.pipe") };
    try {
      await promisify(execFile)("mkfifo", ["-m", "0600", paths.out, paths.err]);
    } catch (error) {
      const { stderr = "" } = error as { stderr?: string };
      const why = stderr.trim() || codeOf(error);
      throw new WritError(
        "CONFIG_INVALID",
        `mkfifo, which makes the pipes for the job's output, failed: ${why}`,
      );
    }
    return new JobLogs(files, paths, masks);
  }

  private constructor(files: JobFiles, { out, err }: { out: string; err: string }, masks: readonly string[]) {
    this.out = out;
    this.err = err;
    const options = {
      bytesMax: outputBytesMax,
      masks,
      onLimit: () => this.#trouble.abort("output" satisfies StopReason),
      onUnwritable: (reason: string) => {
        this.#unwritable = `${reason}; make room in ${dirname(files.stdout)}`;
        this.#trouble.abort("drain" satisfies StopReason);
      },
    };
    this.#pipes = [
      new LogPipe({ fifo: out, file: files.stdout, ...options }),
      new LogPipe({ fifo: err, file: files.stderr, ...options }),
    ];
  }

  /** Aborted when the job has to end because of what it writes: there is too much of it, or no room for it. */
  get trouble(): AbortSignal {
    return this.#trouble.signal;
  }

  /** Throws if the disk did not take everything that the job wrote: the job has not failed by that. */
  check(): void {
    if (this.#unwritable !== undefined) throw new WritError("STORE_UNAVAILABLE", this.#unwritable);
  }

  /** Resolves when everything that was written before is in the files; what comes later is lost. */
  async close(): Promise<void> {
    for (const pipe of this.#pipes) pipe.close();
    // Opening a pipe now would wait for a reader for ever.
    for (const path of [this.out, this.err]) await rm(path, { force: true });
  }
}
