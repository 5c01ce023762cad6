/** Streams that are counted together, for example those of one token. */
export type StreamGroup = { key: string; max: number };

/** Counts the open streams of each group, in the memory of this hub. Why: ADR 0032. */
export class StreamCounts {
  readonly #open = new Map<string, number>();

  /** Counts one more stream in all of these groups, or returns the first of them that is full and counts nothing. */
  add<G extends StreamGroup>(groups: readonly G[]): G | null {
    const full = groups.find(({ key, max }) => (this.#open.get(key) ?? 0) >= max);
    if (full !== undefined) return full;
    for (const { key } of groups) this.#open.set(key, (this.#open.get(key) ?? 0) + 1);
    return null;
  }

  remove(groups: readonly StreamGroup[]): void {
    for (const { key } of groups) {
      const left = (this.#open.get(key) ?? 0) - 1;
      if (left > 0) this.#open.set(key, left);
      else this.#open.delete(key);
    }
  }
}
