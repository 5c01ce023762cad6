import type { Clock, Timer } from "../../runtime/clock/clock.ts";

type PulseDeps = {
  clock: Clock;
  /** Whether an answer of the launcher is awaited: a start, the end of a job, a file. */
  isBusy(): boolean;
  /** Sends a PING. */
  ask(): void;
  onSilent(reason: string): void;
};

/** A launcher that hangs is found within a minute after a request. */
const askAfterMs = 15_000;
const answerMs = 45_000;

/**
 * Finds a launcher that hangs or was stopped with a signal: its socket stays open, so nothing else would show it. A
 * step of its loop takes 10 s at most, when the shared mounts of a start hang, and it answers after each step. So a
 * launcher that has sent nothing at all for longer serves no job.
 */
export class LauncherPulse {
  readonly #deps: PulseDeps;
  #timer: Timer | undefined;
  #isAnswered = true;

  constructor(deps: PulseDeps) {
    this.#deps = deps;
  }

  /** Starts watching, because an answer is awaited. Costs nothing if it was watching already. */
  watch(): void {
    this.#timer ??= this.#deps.clock.setTimer(() => this.#ask(), askAfterMs);
  }

  /** Called for every message of the launcher. */
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
    // One more turn of the event loop: a worker that was blocked itself has not read the last messages yet.
    this.#timer = this.#deps.clock.setTimer(() => setImmediate(() => this.#judge()), answerMs);
  }

  #judge(): void {
    if (this.#timer === undefined) return;
    this.#timer = undefined;
    if (this.#isAnswered) this.watch();
    else this.#deps.onSilent(`it has not answered for ${answerMs / 1000} s`);
  }
}
