import { type ErrorCode, errorTable, WritError } from "../core/errors.ts";
import type { Clock } from "../runtime/clock.ts";

const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 5000;
// A restart of the hub, or an upgrade with its migrations, is over by then.
const OUTAGE_MS_MAX = 300_000;

/**
 * Paces the attempts to reach a hub again: short pauses first, then longer ones, and an end. Until it has worked
 * once there is no second attempt, because then the address is more likely wrong than the hub away.
 */
export class Pace {
  readonly #clock: Clock;
  #hasWorked = false;
  #failedSinceMs: number | undefined;
  #pauseMs = PAUSE_MS_MIN;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The hub has answered: an outage, if there was one, is over. */
  answered(): void {
    this.#hasWorked = true;
    this.#failedSinceMs = undefined;
  }

  /** Something has come of it: the next pause is a short one again. */
  progressed(): void {
    this.#pauseMs = PAUSE_MS_MIN;
  }

  /** Pauses before the next attempt, or throws the error when there should be none. */
  async pauseAfter(error: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#hasWorked || !mayPass(error)) throw error;
    const nowMs = this.#clock.monotonicMs();
    this.#failedSinceMs ??= nowMs;
    if (nowMs - this.#failedSinceMs > OUTAGE_MS_MAX) throw error;
    await this.pause(signal);
  }

  async pause(signal: AbortSignal): Promise<void> {
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX);
    await this.#clock.sleep(pauseMs, signal);
  }
}

/** Errors that another attempt may not meet: the hub is away, stopping or overloaded, or a proxy answers for it. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof WritError)) return false;
  const status = error.details?.["status"];
  const isGateway = error.code === "HTTP_ERROR" && (status === 502 || status === 503 || status === 504);
  return isGateway || errorTable[error.code as ErrorCode].retryable;
}
