import { isRetryable } from "../../core/errors.ts";
import { backOffMs } from "../../runtime/clock/back-off.ts";
import type { Clock } from "../../runtime/clock/clock.ts";

/** A restart of the hub, or an upgrade with its migrations, is finished by then. */
const outageMsMax = 300_000;

type PaceDeps = {
  clock: Clock;
  random: () => number;
  /** Whether this hub has answered the caller before. */
  hasAnswered?: boolean;
};

/**
 * Paces the attempts to reach a hub again: short pauses first, then longer ones, and finally an error. Before the first
 * success there is no second attempt, because then the address is more likely wrong than the hub away.
 */
export class Pace {
  readonly #deps: PaceDeps;
  #hasWorked: boolean;
  #failedSinceMs: number | undefined;
  #pauses = 0;

  constructor(deps: PaceDeps) {
    this.#deps = deps;
    this.#hasWorked = deps.hasAnswered ?? false;
  }

  /** The hub has answered: an outage, if there was one, has ended. */
  answered(): void {
    this.#hasWorked = true;
    this.#failedSinceMs = undefined;
  }

  /** There was progress: the next pause is a short one again. */
  progressed(): void {
    this.#pauses = 0;
  }

  /** Pauses before the next attempt, or throws the error if there should be none. */
  async pauseAfter(error: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#hasWorked || !isRetryable(error)) throw error;
    const nowMs = this.#deps.clock.monotonicMs();
    this.#failedSinceMs ??= nowMs;
    if (nowMs - this.#failedSinceMs > outageMsMax) throw error;
    await this.pause(signal);
  }

  async pause(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    await clock.sleep(backOffMs(this.#pauses++, { firstMs: 100, maxMs: 5_000, random }), signal);
  }
}
