import { hasCode, isRetryable } from "../core/errors.ts";
import { backOffMs } from "../runtime/back-off.ts";
import type { Clock, Timer } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";

/** A hub that is just going down still answers on some connections and refuses others. */
const settledMs = 1_000;

/** Logs once that the hub is away, or refuses the token, and once that it is back, however many calls notice it. */
export class HubPresence {
  readonly #logger: Logger;
  readonly #clock: Clock;
  #isAway = false;
  #isRefused = false;
  #absences = 0;
  #settling: Timer | undefined;

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** How often it has been away so far. */
  get absences(): number {
    return this.#absences;
  }

  away(error: unknown): void {
    this.#settling?.cancel();
    this.#settling = undefined;
    if (this.#isAway) return;
    this.#isAway = true;
    this.#absences++;
    // A hub that limits failed logins answers so to a token that it has refused; that has been said.
    if (this.#isRefused) return;
    const what = hasCode(error, "HUB_UNREACHABLE")
      ? "cannot be reached"
      : "does not serve this worker at present";
    this.#logger.warn({ err: error }, `the hub ${what}; trying again until it is back`);
  }

  refused(): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#logger.warn("the hub refuses this worker's token; claiming nothing more");
  }

  back(): void {
    if (this.#isRefused) this.#logger.info("the hub accepts this worker's token again");
    this.#isRefused = false;
    if (!this.#isAway) return;
    this.#settling ??= this.#clock.setTimer(() => {
      this.#isAway = false;
      this.#settling = undefined;
      this.#logger.info("the hub is back");
    }, settledMs);
  }
}

/** How long to wait before the hub is called again. */
export function hubPauseMs(failures: number, random: () => number): number {
  return backOffMs(failures, { firstMs: 100, maxMs: 5_000, random });
}

export type RetryDeps = { clock: Clock; random: () => number; presence: HubPresence };

/** Repeats a call while the hub is away. Only the signal ends it, so a caller that runs for ever must provide one. */
export async function retryWhileAway<T>(
  deps: RetryDeps,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    signal.throwIfAborted();
    try {
      const answer = await call(signal);
      deps.presence.back();
      return answer;
    } catch (error) {
      if (signal.aborted || !mayComeBack(error)) throw error;
      deps.presence.away(error);
      await deps.clock.sleep(hubPauseMs(failures, deps.random), signal);
    }
  }
}

/**
 * Whether a worker repeats the call. In addition to what is retryable for everybody, that includes an unexpected error
 * of the hub: it may be gone after the hub's next start, and giving up would lose what a job has done.
 */
export function mayComeBack(error: unknown): boolean {
  return isRetryable(error) || hasCode(error, "INTERNAL");
}
