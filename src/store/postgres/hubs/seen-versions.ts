/**
 * Which versions of what hubs share this store has made or heard of. Every commit that others may wait for has a version
 * of its own, so a version that exists and was never heard of is a lost message. Why: ADR 0083.
 */
export class SeenVersions {
  /** Everything up to here was seen, or need not be; null before anything is known. */
  #through: number | null = null;
  readonly #seen = new Set<number>();

  add(first: number, last = first): void {
    const through = this.#through ?? Number.NEGATIVE_INFINITY;
    for (let version = Math.max(first, through + 1); version <= last; version++) this.#seen.add(version);
    while (this.#through !== null && this.#seen.delete(this.#through + 1)) this.#through++;
  }

  /** Whether one up to this was not seen, or cannot be known to have been. */
  isMissing(version: number): boolean {
    return this.#through === null || this.#through < version;
  }

  /** Waiting claims have been told to look again: notices that were lost until here no longer matter. */
  skipTo(version: number): void {
    this.#through = Math.max(version, this.#through ?? 0);
    for (const seen of this.#seen) if (seen <= this.#through) this.#seen.delete(seen);
    this.add(this.#through);
  }
}
