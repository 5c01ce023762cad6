type Wake = () => void;

/** Two jobs whose ids end alike cost one look too many. */
const endLength = 8;

/** The waits for changes of jobs, by the end of the job's id: notices of other hubs contain no more of it. */
export class JobWakes {
  readonly #wakes = new Map<string, Set<Wake>>();

  /** Returns what ends it. */
  add(jobId: string, wake: Wake): () => void {
    const end = jobId.slice(-endLength);
    const ofJob = this.#wakes.get(end) ?? new Set();
    this.#wakes.set(end, ofJob);
    ofJob.add(wake);
    return () => {
      ofJob.delete(wake);
      if (ofJob.size === 0 && this.#wakes.get(end) === ofJob) this.#wakes.delete(end);
    };
  }

  /** An id, or the end of one; null wakes all waits. */
  wake(jobId: string | null): void {
    if (this.#wakes.size === 0) return;
    const woken = jobId === null ? this.#wakes.values() : [this.#wakes.get(jobId.slice(-endLength)) ?? []];
    for (const ofJob of woken) for (const wake of ofJob) wake();
  }
}
