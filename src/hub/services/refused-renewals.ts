import { hasCode } from "../../core/errors.ts";

/**
 * Whether workers wanted to renew leases while the hub could not store that, because its disk is full or its database is
 * locked. Such a worker has done its part, so no job loses its lease by it.
 */
export class RefusedRenewals {
  #areRefused = false;

  /** Returns what the store answers to a renewal. */
  async watch<T>(renewal: Promise<T>): Promise<T> {
    try {
      return await renewal;
    } catch (error) {
      if (hasCode(error, "STORE_UNAVAILABLE")) this.#areRefused = true;
      throw error;
    }
  }

  /** Calls `extend` if leases need more time for it, and says whether they did. If it fails, the next call tries again. */
  async makeUpFor(extend: () => Promise<unknown>): Promise<boolean> {
    if (!this.#areRefused) return false;
    // Before the call: a renewal that is refused meanwhile must not be forgotten.
    this.#areRefused = false;
    try {
      await extend();
      return true;
    } catch (error) {
      this.#areRefused = true;
      throw error;
    }
  }
}
