import { errorTable, WritError } from "../core/errors.ts";
import type { Clock, Timer } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";

/** A hub that is just going down still answers on some connections and refuses others. */
const settledMs = 1_000;

/** Says once that the hub is away and once that it is back, however many calls notice it. */
export class HubPresence {
  readonly #logger: Logger;
  readonly #clock: Clock;
  #isAway = false;
  #absences = 0;
  #settling: Timer | undefined;

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** How often it was away so far. */
  get absences(): number {
    return this.#absences;
  }

  away(error: unknown): void {
    this.#settling?.cancel();
    this.#settling = undefined;
    if (this.#isAway) return;
    this.#isAway = true;
    this.#absences++;
    this.#logger.warn({ err: error }, "the hub cannot be reached; trying again until it is back");
  }

  back(): void {
    if (!this.#isAway) return;
    this.#settling ??= this.#clock.setTimer(() => {
      this.#isAway = false;
      this.#settling = undefined;
      this.#logger.info("the hub is back");
    }, settledMs);
  }
}

const delayMsFirst = 100;
const delayMsMax = 5_000;

/** Doubling delays with jitter, so that a fleet does not come back in step after an outage. */
export function backoffMs(failures: number, random: () => number): number {
  const ceiling = Math.min(delayMsMax, delayMsFirst * 2 ** Math.min(failures, 10));
  return ceiling / 2 + (random() * ceiling) / 2;
}

export type RetryDeps = { clock: Clock; random: () => number; presence: HubPresence };

/** Repeats a call while the hub is away. Its end is the signal's, so a caller that lives for ever must bring one. */
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
      await deps.clock.sleep(backoffMs(failures, deps.random), signal);
    }
  }
}

/** Would the same call succeed when the hub, or what it stands on, is well again? */
export function mayComeBack(error: unknown): boolean {
  if (!(error instanceof WritError)) return false;
  // What the hub itself did not expect may be over with its next start; the calls can all be repeated.
  if (error.code === "INTERNAL") return true;
  if (error.code !== "HTTP_ERROR") return errorTable[error.code].retryable;
  // A proxy in front of the hub answers in its own words.
  const status = Number(error.details?.["status"]);
  return status >= 500 || status === 429 || status === 408;
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof WritError && error.code === code;
}
