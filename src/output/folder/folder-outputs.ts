import { readdir, rmdir, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasCode } from "../../core/errors.ts";
import { isJobId } from "../../core/ids.ts";
import { outputStreams } from "../../core/jobs/output-stream.ts";
import type { AttemptName, FollowOptions, OutputName, Outputs, StreamSizes } from "../outputs.ts";
import { followFile } from "./follow-file.ts";
import { JobsWithOutput } from "./jobs-with-output.ts";
import { asOutputError } from "./output-error.ts";
import { OutputLog, type OutputLogOptions } from "./output-log.ts";
import { jobOutputDir, outputPath } from "./output-path.ts";
import { readRange } from "./read-range.ts";

const jobsPerPage = 500;

/**
 * Keeps outputs as files in a folder of this machine, one per stream: `ab/<job>/<attempt>/stdout.log`. Why: ADR 0023.
 */
export class FolderOutputs implements Outputs {
  readonly #root: string;
  readonly #log: OutputLog;
  readonly #jobs: JobsWithOutput;
  /** Jobs for which it is unknown what is synced. */
  readonly #assumedUnsynced = new Set<string>();

  constructor(root: string, options: OutputLogOptions = {}) {
    this.#root = root;
    this.#log = new OutputLog(options);
    this.#jobs = new JobsWithOutput(root);
  }

  async append(
    output: OutputName,
    { offset, bytes }: { offset: number; bytes: Uint8Array },
  ): Promise<{ size: number }> {
    const path = this.#pathOf(output);
    this.#jobs.note(output.jobId);
    return this.#log.appendAt(path, offset, bytes);
  }

  async sizes({ jobId, attempt }: AttemptName): Promise<StreamSizes> {
    if (!this.#mayHave(jobId)) return { stdout: 0, stderr: 0 };
    const paths = outputStreams.map((stream) => this.#pathOf({ jobId, attempt, stream }));
    const [stdout = 0, stderr = 0] = await Promise.all(paths.map(sizeOf));
    return { stdout, stderr };
  }

  read(output: OutputName, { start, end }: { start: number; end: number }): AsyncGenerator<Buffer> {
    return readRange(this.#pathOf(output), start, end);
  }

  follow(output: OutputName, options: FollowOptions): AsyncGenerator<Buffer> {
    return followFile({ path: this.#pathOf(output), ...options });
  }

  async sync(jobId: string): Promise<void> {
    if (this.#log.isSynced && this.#assumedUnsynced.size === 0) return;
    const dir = jobOutputDir(this.#root, jobId);
    try {
      if (this.#assumedUnsynced.has(jobId)) await this.#noteAll(jobId);
      await this.#log.syncJob(dir);
      this.#assumedUnsynced.delete(jobId);
    } catch (error) {
      throw asOutputError(error, dir);
    }
  }

  assumeUnsynced(jobIds: Iterable<string>): void {
    for (const jobId of jobIds) this.#assumedUnsynced.add(jobId);
  }

  syncOverdue(signal: AbortSignal): Promise<void> {
    return this.#log.syncOverdue(signal);
  }

  /** Files grow for ever. */
  async compact(): Promise<void> {}

  async remove(jobId: string): Promise<void> {
    const dir = jobOutputDir(this.#root, jobId);
    this.#assumedUnsynced.delete(jobId);
    await this.#log.remove(dir, dir);
  }

  async removeAttempts(jobId: string, attempts: readonly number[]): Promise<void> {
    const dir = jobOutputDir(this.#root, jobId);
    for (const attempt of attempts) {
      await this.#log.remove(dirname(this.#pathOf({ jobId, attempt, stream: "stdout" })), dir);
    }
    // Not if another attempt is in it. An attempt that begins at this very moment gets an error and tries again.
    await rmdir(dir).catch(() => {});
  }

  async *listJobs(): AsyncGenerator<string[]> {
    const folders = (await namesIn(this.#root)).filter((name) => /^[0-9a-f]{2}$/.test(name));
    for (const folder of folders) {
      const jobIds = (await namesIn(join(this.#root, folder))).filter(isJobId);
      for (let at = 0; at < jobIds.length; at += jobsPerPage) yield jobIds.slice(at, at + jobsPerPage);
    }
  }

  async listAttempts(jobId: string): Promise<number[]> {
    const names = await namesIn(jobOutputDir(this.#root, jobId));
    return names.map(Number).filter((attempt) => Number.isSafeInteger(attempt) && attempt > 0);
  }

  async capacityBytes(): Promise<number> {
    const { blocks, bsize } = await statfs(this.#root);
    return blocks * bsize;
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  #mayHave(jobId: string): boolean {
    try {
      return this.#jobs.mayHave(jobId);
    } catch (error) {
      throw asOutputError(error, this.#root);
    }
  }

  #pathOf({ jobId, attempt, stream }: OutputName): string {
    return outputPath(this.#root, jobId, attempt, stream);
  }

  /** Marks every file of the job as if all of it had just been written. */
  async #noteAll(jobId: string): Promise<void> {
    for (const attempt of await this.listAttempts(jobId)) {
      for (const stream of outputStreams) {
        const path = this.#pathOf({ jobId, attempt, stream });
        const size = await sizeOf(path);
        if (size > 0) this.#log.noteUnsynced(path, size, dirname(jobOutputDir(this.#root, jobId)));
      }
    }
  }
}

/** The size of an output file; 0 if there is none yet. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return 0;
    throw asOutputError(error, path);
  }
}

/** Folders may be removed between one look and the next. */
async function namesIn(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return [];
    throw asOutputError(error, dir);
  }
}
