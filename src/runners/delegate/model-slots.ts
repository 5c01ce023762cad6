import type { Clock } from "../../runtime/clock/clock.ts";
import type { Capability } from "./delegate-settings.ts";

/** A model of a provider, with its limit. */
type Taken = { provider: string; model: string; maxConcurrent?: Capability["maxConcurrent"] };

/** Keeps at most `max_concurrent` jobs of a model running at once. */
export class ModelSlots {
  readonly #clock: Clock;
  readonly #used = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits for a free slot of the model, for at most `waitMs`, and returns a function that frees it; null if there was
   * none in time or the signal was aborted.
   */
  async take(model: Taken, waitMs: number, signal: AbortSignal): Promise<(() => void) | null> {
    const key = `${model.provider} ${model.model}`;
    const deadlineMs = this.#clock.monotonicMs() + waitMs;
    while ((this.#used.get(key) ?? 0) >= (model.maxConcurrent ?? Number.POSITIVE_INFINITY)) {
      const leftMs = deadlineMs - this.#clock.monotonicMs();
      if (signal.aborted || leftMs <= 0) return null;
      await this.#waitForEnd(key, leftMs, signal);
    }
    if (signal.aborted) return null;
    this.#used.set(key, (this.#used.get(key) ?? 0) + 1);
    return () => this.#free(key);
  }

  #free(key: string): void {
    this.#used.set(key, (this.#used.get(key) ?? 1) - 1);
    for (const wake of this.#waiting.get(key)?.splice(0) ?? []) wake();
  }

  async #waitForEnd(key: string, ms: number, signal: AbortSignal): Promise<void> {
    const isOver = new AbortController();
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.set(key, waiting);
    const wake = (): void => isOver.abort();
    waiting.push(wake);
    // A free slot or the signal ends this wait.
    await this.#clock.sleep(ms, AbortSignal.any([signal, isOver.signal])).catch(() => {});
    const index = waiting.indexOf(wake);
    if (index !== -1) waiting.splice(index, 1);
  }
}
