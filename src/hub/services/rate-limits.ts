import type { Clock } from "../../runtime/clock/clock.ts";

type Bucket = { tokens: number; at: number };

const bucketsMax = 100_000;

/**
 * Token buckets by name. By default a bucket holds one second's worth, so that a few calls at once pass and a flood
 * does not. Each hub keeps its own buckets, and allows an equal share of the limit.
 */
export class RateLimits {
  readonly #clock: Clock;
  readonly #hubs: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, hubs: () => number = () => 1) {
    this.#clock = clock;
    this.#hubs = hubs;
  }

  /** Takes `count` from the bucket; returns 0, or the milliseconds until the next try. */
  take(name: string, limitPerSecond: number, count = 1, burstMax = Math.max(1, limitPerSecond)): number {
    const hubs = this.#hubs();
    const perSecond = limitPerSecond / hubs;
    const burst = Math.max(1, burstMax / hubs);
    const bucket = this.#refill(name, perSecond, burst);
    // A batch larger than the bucket is let through when the bucket is full, and leaves a debt.
    const needed = Math.min(count, burst);
    if (bucket.tokens >= needed) {
      bucket.tokens -= count;
      return 0;
    }
    return Math.ceil(((needed - bucket.tokens) / perSecond) * 1000);
  }

  #refill(name: string, perSecond: number, burst: number): Bucket {
    const now = this.#clock.monotonicMs();
    const known = this.#buckets.get(name);
    if (known === undefined) {
      if (this.#buckets.size >= bucketsMax) this.#buckets.clear();
      const fresh = { tokens: burst, at: now };
      this.#buckets.set(name, fresh);
      return fresh;
    }
    known.tokens = Math.min(burst, known.tokens + ((now - known.at) / 1000) * perSecond);
    known.at = now;
    return known;
  }
}
