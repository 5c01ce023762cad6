import { hasCode, isRetryable } from "../../core/errors.ts";
import { backOffMs } from "../../runtime/clock/back-off.ts";
import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import { OutageLog } from "../../runtime/log/outage-log.ts";

/** A hub that is shutting down still answers on some connections and refuses others. */
const settledMs = 1_000;

/** Logs that the hub is away or refuses the token, and that it is back, in few lines even if many calls notice it. */
export class HubPresence {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #moves: () => number;
  readonly #outage: OutageLog;
  #isRefused = false;
  #absences = 0;
  #settling: Timer | undefined;

  /** `moves` returns how often the client has changed to another of several hubs. */
  constructor(logger: Logger, clock: Clock, moves: () => number = () => 0) {
    this.#moves = moves;
    this.#logger = logger;
    this.#clock = clock;
    this.#outage = new OutageLog(clock, {
      // A hub that limits failed logins answers with this to a token that it has refused, which was logged before.
      begins: (error) => {
        if (!this.#isRefused)
          logger.warn({ err: error }, `the hub ${whatOf(error)}; trying again until it is back`);
      },
      lasts: (error, howLong) => {
        if (!this.#isRefused)
          logger.warn({ err: error }, `the hub has been away for ${howLong}; trying again until it is back`);
      },
      // At the level of the first line, so that its readers see this one too.
      ends: (howLong) => logger.warn(`the hub is back after ${howLong}`),
    });
  }

  /** How often the hub was away so far, or was replaced by another. */
  get absences(): number {
    return this.#absences + this.#moves();
  }

  away(error: unknown): void {
    this.#settling?.cancel();
    this.#settling = undefined;
    if (!this.#outage.isOn) this.#absences++;
    this.#outage.noticed(error);
  }

  refused(): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#logger.warn("the hub refuses this worker's token; claiming nothing more");
  }

  back(): void {
    if (this.#isRefused) this.#logger.info("the hub accepts this worker's token again");
    this.#isRefused = false;
    if (!this.#outage.isOn) return;
    this.#settling ??= this.#clock.setTimer(() => {
      this.#settling = undefined;
      this.#outage.over();
    }, settledMs);
  }
}

function whatOf(error: unknown): string {
  return hasCode(error, "HUB_UNREACHABLE") ? "cannot be reached" : "does not serve this worker at present";
}

/** How long to wait before the hub is called again. */
export function hubPauseMs(failures: number, random: () => number): number {
  return backOffMs(failures, { firstMs: 100, maxMs: 5_000, random });
}

export type RetryDeps = { clock: Clock; random: () => number; presence: HubPresence };

/** Repeats a call while the hub is away. Only the signal ends it, so a caller that runs for ever must pass one. */
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
 * Whether a worker repeats the call: after every retryable error, and after an unexpected error of the hub, which may
 * be fixed at the hub's next start, while giving up would lose the job's work.
 */
export function mayComeBack(error: unknown): boolean {
  return isRetryable(error) || hasCode(error, "INTERNAL");
}
