import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isJobId } from "../../core/ids.ts";
import { jobOutputDir, outputPath, sizeOf } from "../../output/output-log.ts";
import type { HubDeps } from "../deps.ts";
import { StrayOutputs } from "./stray-outputs.ts";

type Deps = Pick<HubDeps, "store" | "outputs" | "outputsDir" | "outputTally" | "logger">;

const jobsPerAct = 500;
/** There are 256, so it is over after some minutes. */
const foldersPerStep = 8;

/**
 * Looks once through all folders of outputs, some with each step, for what the store has not noted: output from before
 * sizes were kept, or of a moment in which the hub was killed. Files that were to go when that happened go now; folders
 * of jobs that the store does not know go when all have been looked at.
 */
export class OutputSurvey {
  readonly #deps: Deps;
  readonly #strays: StrayOutputs;
  #folders: string[] | null = null;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#strays = new StrayOutputs(deps);
  }

  async step(signal: AbortSignal): Promise<void> {
    this.#folders ??= (await readdir(this.#deps.outputsDir)).filter((name) => /^[0-9a-f]{2}$/.test(name));
    for (const folder of this.#folders.splice(0, foldersPerStep)) await this.#lookInto(folder, signal);
    if (this.#folders.length === 0 && !signal.aborted) await this.#strays.removeSome(signal);
  }

  async #lookInto(folder: string, signal: AbortSignal): Promise<void> {
    const names = (await readdir(join(this.#deps.outputsDir, folder))).filter(isJobId);
    for (let at = 0; at < names.length && !signal.aborted; at += jobsPerAct) {
      await this.#look(names.slice(at, at + jobsPerAct));
    }
  }

  async #look(jobIds: string[]): Promise<void> {
    const notes = await this.#deps.store.getOutputNotes({ jobIds });
    this.#strays.sort(jobIds, new Set(notes.map(({ jobId }) => jobId)));
    for (const note of notes) {
      if (!note.isNoted || note.droppedThrough > 0) await this.#settle(note);
    }
  }

  async #settle({ jobId, isNoted, droppedThrough }: Note): Promise<void> {
    const { outputs, outputsDir, outputTally } = this.#deps;
    const attempts = await this.#attemptsOf(jobId);
    const dropped = attempts.filter((attempt) => attempt <= droppedThrough);
    if (dropped.length > 0) await outputs.removeAttempts(outputsDir, jobId, dropped);
    if (isNoted) return;
    for (const attempt of attempts) {
      for (const stream of ["stdout", "stderr"] as const) {
        const size = await sizeOf(outputPath(outputsDir, jobId, attempt, stream));
        if (size > 0) outputTally.set(jobId, { attempt, stream, size });
      }
    }
  }

  async #attemptsOf(jobId: string): Promise<number[]> {
    // It may have been removed since it was listed.
    const names = await readdir(jobOutputDir(this.#deps.outputsDir, jobId)).catch(() => []);
    return names.map(Number).filter((attempt) => Number.isSafeInteger(attempt) && attempt > 0);
  }
}

type Note = Awaited<ReturnType<Deps["store"]["getOutputNotes"]>>[number];
