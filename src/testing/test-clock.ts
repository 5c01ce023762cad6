import { type Clock, systemClock, type Timer } from "../runtime/clock/clock.ts";

type Waiting = { dueMs: number; fire: () => void; timer: Timer };

/**
 * A clock that a test moves. The time of day stands still until then. Durations pass as they do on the machine, so that what
 * waits for a few milliseconds in order to work need not be moved. A move adds to both, and fires every timer that is due.
 */
export class TestClock implements Clock {
  #nowMs: number;
  #movedMs = 0;
  readonly #waiting = new Set<Waiting>();

  constructor(nowMs: number) {
    this.#nowMs = Math.round(nowMs);
  }

  // Bound, because clocks are spread and passed on in parts.
  readonly nowMs = (): number => this.#nowMs;

  readonly monotonicMs = (): number => systemClock.monotonicMs() + this.#movedMs;

  readonly setTimer = (fn: () => void, ms: number): Timer => {
    const waiting: Waiting = {
      dueMs: this.monotonicMs() + ms,
      fire: () => {
        waiting.timer.cancel();
        if (this.#waiting.delete(waiting)) fn();
      },
      timer: systemClock.setTimer(() => waiting.fire(), ms),
    };
    this.#waiting.add(waiting);
    return {
      cancel: () => {
        waiting.timer.cancel();
        this.#waiting.delete(waiting);
      },
    };
  };

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (signal?.aborted) reject(signal.reason);
    const onAbort = (): void => {
      timer.cancel();
      reject(signal!.reason);
    };
    const timer = this.setTimer(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
    return promise;
  };

  /** Moves the time. Timers that are due by then fire in their order. */
  move(ms: number): void {
    this.#nowMs += ms;
    this.#movedMs += ms;
    const nowMs = this.monotonicMs();
    const due = [...this.#waiting].sort((a, b) => a.dueMs - b.dueMs);
    for (const waiting of due) {
      if (waiting.dueMs <= nowMs) waiting.fire();
      else this.#rearm(waiting, waiting.dueMs - nowMs);
    }
  }

  #rearm(waiting: Waiting, ms: number): void {
    // A timer that has fired may have cancelled this one.
    if (!this.#waiting.has(waiting)) return;
    waiting.timer.cancel();
    waiting.timer = systemClock.setTimer(() => waiting.fire(), ms);
  }
}
