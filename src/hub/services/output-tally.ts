import type { OutputName } from "../../output/outputs.ts";
import type { AttemptOutput, OutputStore } from "../../store/output-store.ts";

/** Of how many attempts the store hears in one act, so that none holds up the others for long. */
const attemptsPerAct = 500;

/**
 * Remembers how much attempts have said until the store has noted it: with their ending, or within seconds by the
 * storage service. So the sum of all outputs is known without a look at the files. What a crash takes from here is
 * noted with the next chunk of the attempt, or with its ending.
 */
export class OutputTally {
  readonly #store: Pick<OutputStore, "noteOutputs">;
  readonly #unnoted = new Map<string, Map<number, AttemptOutput>>();
  /** What the store last said. Jobs that were forgotten since then may still be in it. */
  keptBytes = 0;
  #isAsked = false;

  constructor(store: Pick<OutputStore, "noteOutputs">) {
    this.#store = store;
  }

  set({ jobId, attempt, stream }: OutputName, size: number): void {
    const ofJob = this.#unnoted.get(jobId) ?? new Map<number, AttemptOutput>();
    this.#unnoted.set(jobId, ofJob);
    const known = ofJob.get(attempt);
    // Two who tell of one stream at the same time may come in the wrong order; outputs only grow.
    ofJob.set(attempt, { jobId, attempt, ...known, [stream]: Math.max(size, known?.[stream] ?? 0) });
  }

  /** Has the store note what these jobs have said. One that has said nothing new costs nothing. */
  async noteJobs(jobIds: Iterable<string>): Promise<void> {
    const outputs = [...jobIds].flatMap((jobId) => this.#take(jobId));
    if (outputs.length > 0) await this.#note(outputs);
  }

  /** Has the store note everything, and asks it for the sum when that is not known yet. */
  async noteAll(): Promise<void> {
    if (!this.#isAsked) await this.#note([]);
    const jobIds = [...this.#unnoted.keys()];
    for (let at = 0; at < jobIds.length; at += attemptsPerAct) {
      await this.noteJobs(jobIds.slice(at, at + attemptsPerAct));
    }
  }

  #take(jobId: string): AttemptOutput[] {
    const ofJob = this.#unnoted.get(jobId);
    this.#unnoted.delete(jobId);
    return ofJob === undefined ? [] : [...ofJob.values()];
  }

  async #note(outputs: AttemptOutput[]): Promise<void> {
    try {
      this.keptBytes = (await this.#store.noteOutputs({ outputs })).keptBytes;
      this.#isAsked = true;
    } catch (error) {
      for (const output of outputs) this.#giveBack(output);
      throw error;
    }
  }

  /** What was set meanwhile is newer. */
  #giveBack(output: AttemptOutput): void {
    const { jobId, attempt } = output;
    const ofJob = this.#unnoted.get(jobId) ?? new Map<number, AttemptOutput>();
    this.#unnoted.set(jobId, ofJob);
    ofJob.set(attempt, { ...output, ...ofJob.get(attempt) });
  }
}
