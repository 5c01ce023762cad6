import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import type { HeldJob } from "../claims/held-jobs.ts";
import type { HubCalls } from "../hub/hub-calls.ts";

const betweenMs = 250;
const detailCharsMax = 2000;

type Report = { progress: number; detail?: string };

type ProgressDeps = { calls: Pick<HubCalls, "progress">; clock: Clock };

/** Reports the progress of an attempt: only the latest, only when it has changed, and at most a few times a second. */
export class ProgressReporter {
  readonly #deps: ProgressDeps;
  readonly #held: HeldJob;
  readonly #announce: () => Promise<void>;
  #latest: Report | undefined;
  /** The last report that the hub received, as far as is known. */
  #sent: Report | undefined;
  #pause: Timer | undefined;
  #deliveries = 0;
  #isOver = false;

  /** `announce` resolves when the hub knows that the attempt has started: progress is reported only after that. */
  constructor(deps: ProgressDeps, held: HeldJob, announce: () => Promise<void>) {
    this.#deps = deps;
    this.#held = held;
    this.#announce = announce;
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
    if (report === undefined || this.#isOver || isSame(report, this.#sent)) return;
    this.#sent = report;
    this.#pause = this.#deps.clock.setTimer(() => this.#send(), betweenMs);
    this.#deliver(report).catch(() => {
      // A lost progress report does not matter; the next one is newer, or is sent although it is the same.
      if (this.#sent === report) this.#sent = undefined;
    });
  }

  async #deliver(report: Report): Promise<void> {
    const mine = ++this.#deliveries;
    await this.#announce();
    // Of all that waited for the announcement, only the latest is sent.
    const isLatest = mine === this.#deliveries;
    if (isLatest && !this.#isOver)
      await this.#deps.calls.progress(this.#held.lease, report, this.#held.gone.signal);
  }
}

function isSame(one: Report, other: Report | undefined): boolean {
  return one.progress === other?.progress && one.detail === other.detail;
}
