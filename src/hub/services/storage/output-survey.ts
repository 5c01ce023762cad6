import { outputStreams } from "../../../core/jobs/output-stream.ts";
import type { HubDeps } from "../../deps.ts";
import type { LeftOutputs } from "../left-outputs.ts";
import { StrayOutputs } from "./stray-outputs.ts";

type Deps = Pick<HubDeps, "store" | "outputs" | "outputTally" | "logger" | "failures">;

/** At most 500 jobs each. A million jobs take some minutes. */
const pagesPerStep = 8;

/**
 * Examines every job that has output once, a few with each step, for output that the store has not recorded: from
 * before sizes were kept, or from the moment when the hub was killed. Output whose removal was interrupted is removed
 * now; output of jobs that the store does not know is removed once everything has been examined.
 */
export class OutputSurvey {
  readonly #deps: Deps;
  readonly #left: LeftOutputs;
  readonly #strays: StrayOutputs;
  #pages: AsyncGenerator<string[]> | undefined;
  #isListed = false;
  #isGivenUp = false;

  constructor(deps: Deps, left: LeftOutputs) {
    this.#deps = deps;
    this.#left = left;
    this.#strays = new StrayOutputs(deps);
  }

  async step(signal: AbortSignal): Promise<void> {
    if (this.#isGivenUp) return;
    for (let count = 0; count < pagesPerStep && !this.#isListed && !signal.aborted; count++) {
      const jobIds = await this.#nextPage();
      if (jobIds === undefined) this.#isListed = true;
      else await this.#look(jobIds);
    }
    if (this.#isListed && !signal.aborted) await this.#strays.removeSome(signal);
  }

  async #nextPage(): Promise<string[] | undefined> {
    this.#pages ??= this.#deps.outputs.appended.listJobs();
    try {
      return (await this.#pages.next()).value;
    } catch (error) {
      // With an incomplete list, a few strays look like the wrong database; the survey after the next start examines
      // them again.
      this.#isGivenUp = true;
      throw error;
    }
  }

  async #look(jobIds: string[]): Promise<void> {
    const notes = await this.#deps.store.getOutputNotes({ jobIds });
    this.#strays.sort(jobIds, new Set(notes.map(({ jobId }) => jobId)));
    for (const note of notes) {
      if (!note.isNoted || note.droppedThrough > 0) await this.#recordOrRemove(note);
    }
    if (notes.some(({ droppedThrough }) => droppedThrough > 0)) await this.#left.removeAll();
  }

  async #recordOrRemove({ jobId, isNoted, droppedThrough }: Note): Promise<void> {
    const { outputs, outputTally } = this.#deps;
    const attempts = await outputs.appended.listAttempts(jobId);
    const dropped = attempts.filter((attempt) => attempt <= droppedThrough);
    if (dropped.length > 0)
      this.#left.add({ jobId, remove: () => outputs.appended.removeAttempts(jobId, dropped) });
    if (isNoted) return;
    for (const attempt of attempts.filter((one) => one > droppedThrough)) {
      const sizes = await outputs.appended.sizes({ jobId, attempt });
      for (const stream of outputStreams) {
        if (sizes[stream] > 0) outputTally.set({ jobId, attempt, stream }, sizes[stream]);
      }
    }
  }
}

type Note = Awaited<ReturnType<Deps["store"]["getOutputNotes"]>>[number];
