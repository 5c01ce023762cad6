import type { OutputName } from "../../../output/outputs.ts";
import type { AttemptOutput, OutputStore } from "../../../store/output-store.ts";

/** How many attempts one act records, so that other acts do not wait for long. */
const attemptsPerAct = 500;

/**
 * Remembers how much attempts have written until the store has recorded it: with their end, or within seconds by the
 * storage service. So the total of all outputs is known without reading files. Sizes that a crash loses here are
 * recorded with the next chunk of the attempt, or with its end.
 */
export class OutputTally {
  readonly #store: Pick<OutputStore, "noteOutputs">;
  readonly #unnoted = new Map<string, Map<number, AttemptOutput>>();
  /** The store's last answer. Jobs that were deleted after it may still be included. */
  keptBytes = 0;

  constructor(store: Pick<OutputStore, "noteOutputs">) {
    this.#store = store;
  }

  set({ jobId, attempt, stream }: OutputName, size: number): void {
    const ofJob = this.#unnoted.get(jobId) ?? new Map<number, AttemptOutput>();
    this.#unnoted.set(jobId, ofJob);
    const known = ofJob.get(attempt);
    // Two reports about one stream at the same time may arrive in the wrong order; outputs only grow.
    ofJob.set(attempt, { jobId, attempt, ...known, [stream]: Math.max(size, known?.[stream] ?? 0) });
  }

  /** Has the store record what these jobs have written. A job with nothing new costs nothing. */
  async noteJobs(jobIds: Iterable<string>): Promise<void> {
    const outputs = [...jobIds].flatMap((jobId) => this.#take(jobId));
    if (outputs.length > 0) await this.#note(outputs);
  }

  /** Has the store record everything, and reads the total from it, which includes outputs that came with their end. */
  async noteAll(): Promise<void> {
    const jobIds = [...this.#unnoted.keys()];
    if (jobIds.length === 0) await this.#note([]);
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
    } catch (error) {
      for (const output of outputs) this.#giveBack(output);
      throw error;
    }
  }

  /** Puts an output back unless a newer size was set meanwhile. */
  #giveBack(output: AttemptOutput): void {
    const { jobId, attempt } = output;
    const ofJob = this.#unnoted.get(jobId) ?? new Map<number, AttemptOutput>();
    this.#unnoted.set(jobId, ofJob);
    ofJob.set(attempt, { ...output, ...ofJob.get(attempt) });
  }
}
