import { hasCode } from "../../core/errors.ts";

/**
 * Whether workers wanted to renew leases while the hub could not store that, because its disk is full or its database is
 * locked or away. Such a worker has done its part, so no job loses its lease by it: from the first refusal until all leases
 * have been extended, no lease is over by the clock. Attempt and token count as ever.
 */
export class RefusedRenewals {
  #refused = 0;
  /** How many of those were refused before leases were last extended. */
  #madeUp = 0;

  get areRefused(): boolean {
    return this.#refused > this.#madeUp;
  }

  /** Returns what the store answers to a renewal, or to whoever would end a lease that is not renewed. */
  async watch<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (hasCode(error, "STORE_UNAVAILABLE")) this.#refused++;
      throw error;
    }
  }

  /** Calls `extend` if leases need more time for it, and says whether they did. If it fails, the next call tries again. */
  async makeUpFor(extend: () => Promise<unknown>): Promise<boolean> {
    if (!this.areRefused) return false;
    // What is refused meanwhile may have been extended by too little.
    const refused = this.#refused;
    await extend();
    this.#madeUp = refused;
    return true;
  }
}
