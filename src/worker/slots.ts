import type { Clock, Timer } from "../runtime/clock/clock.ts";
import type { HeldJob } from "./claims/held-jobs.ts";
import { LookAhead } from "./claims/look-ahead.ts";

type SlotsOptions = {
  slots: number;
  /** Whether more may be claimed than can run at once. Only workers whose jobs are functions gain by it. */
  mayLookAhead: boolean;
  clock: Clock;
  /** Runs one job; never rejects. Calls `free` when its slot can be used again, at its end at the latest. */
  run(held: HeldJob, free: () => void): Promise<void>;
  /** Gives back jobs that were claimed ahead and cannot start soon. */
  giveBack(jobs: HeldJob[]): void;
  /** How many attempts the worker holds in total, including those that are still being reported. */
  heldCount(): number;
};

const claimMax = 256;
/** While the hub is slow to accept results, no more than this pile up. */
const endingMax = 1024;
const stuckMs = 2_000;

/** The jobs that run, and those that wait to run next. */
export class Slots {
  readonly #options: SlotsOptions;
  readonly #lookAhead = new LookAhead();
  readonly #waiting: HeldJob[] = [];
  #used = 0;
  #onChange: () => void = () => {};
  #stuckTimer: Timer | undefined;
  #movedAtMs = 0;
  #isFilling = false;

  constructor(options: SlotsOptions) {
    this.#options = options;
  }

  get used(): number {
    return this.#used;
  }

  /** How many jobs could start now. */
  get free(): number {
    return this.#options.slots - this.#used - this.#waiting.length;
  }

  /** How many more jobs there is room for now. */
  wanted(): number {
    const { slots, heldCount } = this.#options;
    if (heldCount() >= slots + endingMax) return 0;
    const ahead = this.#ahead();
    const missing = slots + ahead - this.#used - this.#waiting.length;
    // While every slot is busy, a few more are not worth a call; half of what is kept ready is.
    if (this.#used + this.#waiting.length >= slots && missing < ahead / 2) return 0;
    return Math.max(0, Math.min(claimMax, missing));
  }

  /** Called whenever a slot has become free. */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  add(jobs: readonly HeldJob[]): void {
    this.#waiting.push(...jobs);
    this.#fill();
  }

  /** A waiting job that was cancelled or lost ends now, not when its turn would have come. */
  endWaiting(held: HeldJob): void {
    const index = this.#waiting.indexOf(held);
    if (index === -1) return;
    this.#waiting.splice(index, 1);
    void this.#options.run(held, () => {});
  }

  takeWaiting(): HeldJob[] {
    return this.#waiting.splice(0);
  }

  #ahead(): number {
    return this.#options.mayLookAhead ? this.#lookAhead.jobs(this.#options.slots) : 0;
  }

  /**
   * In the next turn of the event loop. Otherwise functions that take no time would all run in this turn, a whole batch
   * of them, before the claim of the next batch or the first result could be sent.
   */
  #fillSoon(): void {
    if (this.#isFilling || this.#waiting.length === 0) return;
    this.#isFilling = true;
    setImmediate(() => {
      this.#isFilling = false;
      this.#fill();
    });
  }

  #fill(): void {
    while (this.#used < this.#options.slots) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#begin(next);
    }
    this.#watchStuck();
  }

  #begin(held: HeldJob): void {
    const { clock, run } = this.#options;
    const startedMs = clock.monotonicMs();
    let isFree = false;
    this.#used++;
    const free = (): void => {
      if (isFree) return;
      isFree = true;
      this.#used--;
      this.#lookAhead.note(clock.monotonicMs() - startedMs);
      this.#fillSoon();
      this.#onChange();
    };
    void run(held, free).then(() => {
      free();
      // Even if the slot was free before, because fewer attempts are held now.
      this.#onChange();
    });
  }

  /** If no slot has become free for a while, the waiting jobs should go to a worker that has time for them. */
  #watchStuck(): void {
    this.#movedAtMs = this.#options.clock.monotonicMs();
    if (this.#waiting.length > 0) this.#stuckTimer ??= this.#armStuckTimer(stuckMs);
  }

  /** One timer for many moves: it checks when the last one was, instead of being reset by each. */
  #armStuckTimer(inMs: number): Timer {
    const { clock, giveBack } = this.#options;
    return clock.setTimer(() => {
      this.#stuckTimer = undefined;
      if (this.#waiting.length === 0) return;
      const leftMs = this.#movedAtMs + stuckMs - clock.monotonicMs();
      if (leftMs > 0) this.#stuckTimer = this.#armStuckTimer(leftMs);
      else giveBack(this.takeWaiting());
    }, inMs);
  }
}
