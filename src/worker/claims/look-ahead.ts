/** How much work a worker keeps ready beyond its slots. */
const aheadMs = 100;
/** Two full claims: one that is being run, and one that is on its way meanwhile. */
const jobsMax = 512;
/** About the last twenty jobs count. */
const weight = 0.1;

/**
 * Decides how many jobs to claim ahead. A worker whose jobs take a fraction of a millisecond would otherwise spend its
 * time asking for them; one whose jobs take long must not hoard jobs that another worker could start now.
 */
export class LookAhead {
  #averageMs: number | undefined;

  note(durationMs: number): void {
    this.#averageMs =
      this.#averageMs === undefined ? durationMs : this.#averageMs + weight * (durationMs - this.#averageMs);
  }

  jobs(slots: number): number {
    if (this.#averageMs === undefined || this.#averageMs > aheadMs) return 0;
    return Math.min(jobsMax, Math.floor((slots * aheadMs) / Math.max(this.#averageMs, 0.01)));
  }
}
