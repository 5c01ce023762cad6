import type { Clock, Timer } from "../runtime/clock.ts";
import type { HeldJob } from "./held-jobs.ts";
import type { HubCalls } from "./hub-calls.ts";

const betweenMs = 250;
const detailCharsMax = 2000;

/** Tells the hub how far an attempt is: the latest word only, and not more than a few times a second. */
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
    if (!(percent >= 0 && percent <= 100)) throw new RangeError(`progress ${percent} is not from 0 to 100`);
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
    // A word about progress that is lost is not missed; the next one says more.
    this.#deps.calls.progress(this.#held.lease, report, this.#held.gone.signal).catch(() => {});
  }
}
