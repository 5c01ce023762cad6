import type { Clock, Timer } from "../runtime/clock.ts";
import type { HeldJob } from "./held-jobs.ts";
import type { HubCalls } from "./hub-calls.ts";

const betweenMs = 250;
const detailCharsMax = 2000;

/** Reports the progress of an attempt: only the latest, and at most a few times a second. */
export class ProgressReporter {
  readonly #deps: { calls: Pick<HubCalls, "progress">; clock: Clock };
  readonly #held: HeldJob;
  #latest: { progress: number; detail?: string } | undefined;
  #pause: Timer | undefined;
  #isOver = false;

  constructor(deps: { calls: Pick<HubCalls, "progress">; clock: Clock }, held: HeldJob) {
    this.#deps = deps;
    this.#held = held;
  }

  report(percent: number, detail?: string): void {
    if (!(percent >= 0 && percent <= 100))
      throw new RangeError(`progress ${percent} is not between 0 and 100`);
    const said = detail === undefined ? {} : { detail: detail.slice(0, detailCharsMax).toWellFormed() };
    this.#latest = { progress: percent, ...said };
    if (this.#pause === undefined) this.#send();
  }

  stop(): void {
    this.#isOver = true;
    this.#pause?.cancel();
  }

  #send(): void {
    const report = this.#latest;
    this.#latest = undefined;
    this.#pause = undefined;
    if (report === undefined || this.#isOver) return;
    this.#pause = this.#deps.clock.setTimer(() => this.#send(), betweenMs);
    // A lost progress report does not matter; the next one is newer.
    this.#deps.calls.progress(this.#held.lease, report, this.#held.gone.signal).catch(() => {});
  }
}
