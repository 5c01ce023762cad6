import { hasCode } from "../../core/errors.ts";

/**
 * Whether workers tried to renew leases while the hub could not store that, because its disk is full or its database is
 * locked or away. Such a worker has done its part, so no job may lose its lease for this: from the first refusal until
 * all leases have been extended, no lease expires. Attempt and token are checked as usual.
 */
export class RefusedRenewals {
  #refused = 0;
  /** How many of those refusals came before the last extension. */
  #madeUp = 0;

  get areRefused(): boolean {
    return this.#refused > this.#madeUp;
  }

  /** Passes on the store's answer to a renewal, or to an act that ends leases that were not renewed. */
  async watch<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (hasCode(error, "STORE_UNAVAILABLE")) this.#refused++;
      throw error;
    }
  }

  /**
   * Calls `extend` if refused renewals require it, and returns whether they did. If it fails, the next call tries
   * again.
   */
  async makeUpFor(extend: () => Promise<unknown>): Promise<boolean> {
    if (!this.areRefused) return false;
    // A renewal that is refused meanwhile may need a later extension.
    const refused = this.#refused;
    await extend();
    this.#madeUp = refused;
    return true;
  }
}
