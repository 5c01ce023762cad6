import type { Clock } from "../../src/runtime/clock.ts";
import { systemClock } from "../../src/runtime/clock.ts";

const historyMs = 62 * 60_000;

/** Starts an hour ago and is moved on by hand, so that the history has ages. */
export class StageClock implements Clock {
  #aheadMs = -historyMs;
  readonly nowMs = () => Math.round(systemClock.nowMs() + this.#aheadMs);
  readonly monotonicMs = () => systemClock.monotonicMs() + this.#aheadMs;
  readonly sleep = systemClock.sleep;
  readonly setTimer = systemClock.setTimer;

  pass(ms: number): void {
    this.#aheadMs = Math.min(0, this.#aheadMs + ms);
  }

  /** Moves to this long before now. */
  at(agoMs: number): void {
    if (-agoMs > this.#aheadMs) this.#aheadMs = -agoMs;
  }
}
