import type { Clock, Timer } from "../runtime/clock.ts";

type PulseDeps = {
  clock: Clock;
  /** Is anything expected of the launcher: a start, the end of a job, a file? */
  isBusy(): boolean;
  /** Sends a PING. */
  ask(): void;
  onSilent(reason: string): void;
};

/** A launcher that stands still is found within a minute after something was expected of it. */
const askAfterMs = 15_000;
const answerMs = 45_000;

/**
 * Finds a launcher that hangs or was stopped: it keeps its socket open, so nothing else would ever tell. Its loop does
 * nothing that takes long, so one that does not answer for so long serves nobody: no output is taken from its jobs either.
 */
export class LauncherPulse {
  readonly #deps: PulseDeps;
  #timer: Timer | undefined;
  #isAnswered = true;

  constructor(deps: PulseDeps) {
    this.#deps = deps;
  }

  /** Something is expected from now on. Costs nothing when that was so before. */
  watch(): void {
    this.#timer ??= this.#deps.clock.setTimer(() => this.#ask(), askAfterMs);
  }

  /** A PONG came. */
  answered(): void {
    this.#isAnswered = true;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #ask(): void {
    this.#timer = undefined;
    if (!this.#deps.isBusy()) return;
    this.#isAnswered = false;
    this.#deps.ask();
    // One more turn of the loop: a worker that stood still itself has not read yet what lies there for it.
    this.#timer = this.#deps.clock.setTimer(() => setImmediate(() => this.#judge()), answerMs);
  }

  #judge(): void {
    if (this.#timer === undefined) return;
    this.#timer = undefined;
    if (this.#isAnswered) this.watch();
    else this.#deps.onSilent(`it has not answered for ${answerMs / 1000} s`);
  }
}
