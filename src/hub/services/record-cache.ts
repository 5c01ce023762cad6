import type { Clock } from "../../runtime/clock/clock.ts";

/** A change by another hub is noticed within this time; a change by this hub at once. */
const freshMs = 1_000;
const entriesMax = 20_000;

/**
 * Small records that many requests need and few change: workers, quotas. Reading the store each time would double the
 * cost of a small call.
 */
export class RecordCache<Value> {
  readonly #read: (key: string) => Promise<Value>;
  readonly #clock: Clock;
  readonly #entries = new Map<string, { value: Value; readAt: number }>();
  /** The newest read of each key that is under way. */
  readonly #reads = new Map<string, symbol>();

  constructor(clock: Clock, read: (key: string) => Promise<Value>) {
    this.#clock = clock;
    this.#read = read;
  }

  async get(key: string): Promise<Value> {
    const entry = this.#entries.get(key);
    if (entry !== undefined && this.#clock.monotonicMs() - entry.readAt <= freshMs) return entry.value;
    const read = Symbol(key);
    this.#reads.set(key, read);
    try {
      const value = await this.#read(key);
      if (this.#reads.get(key) === read) this.#keep(key, value);
      return value;
    } finally {
      if (this.#reads.get(key) === read) this.#reads.delete(key);
    }
  }

  #keep(key: string, value: Value): void {
    if (this.#entries.size >= entriesMax) this.#entries.clear();
    // A missing record is not cached, because a worker that registers a moment later must not be refused.
    if (value !== null) this.#entries.set(key, { value, readAt: this.#clock.monotonicMs() });
  }

  /** A read that is under way may return the record from before the change, so its result is not kept. */
  forget(key: string): void {
    this.#entries.delete(key);
    this.#reads.delete(key);
  }

  forgetAll(): void {
    this.#entries.clear();
    this.#reads.clear();
  }
}
