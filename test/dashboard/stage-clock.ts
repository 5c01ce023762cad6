import type { Clock } from "../../src/runtime/clock/clock.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";

const historyMs = 62 * 60_000;
/** While an hour is played in seconds, the hub's rounds (samples of the queues, silent workers) keep step with it. */
const fastTimes = 100;

/** Starts an hour ago and is moved on by hand, so that the history has ages. */
export class StageClock implements Clock {
  #aheadMs = -historyMs;
  readonly nowMs = () => Math.round(systemClock.nowMs() + this.#aheadMs);
  readonly monotonicMs = () => systemClock.monotonicMs() + this.#aheadMs;
  readonly sleep = (ms: number, signal?: AbortSignal) => systemClock.sleep(this.#pace(ms), signal);
  readonly setTimer = (fn: () => void, ms: number) => systemClock.setTimer(fn, this.#pace(ms));

  get agoMs(): number {
    return -this.#aheadMs;
  }

  pass(ms: number): void {
    this.#aheadMs = Math.min(0, this.#aheadMs + ms);
  }

  /** Moves to this long before now. */
  at(agoMs: number): void {
    if (-agoMs > this.#aheadMs) this.#aheadMs = -agoMs;
  }

  #pace(ms: number): number {
    return this.agoMs === 0 ? ms : ms / fastTimes;
  }
}
