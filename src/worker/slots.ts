import type { Clock, Timer } from "../runtime/clock/clock.ts";
import type { HeldJob } from "./claims/held-jobs.ts";
import { LookAhead } from "./claims/look-ahead.ts";

type SlotsOptions = {
  slots: number;
  /** Whether more jobs may be claimed than can run at once, which helps only workers whose jobs are functions. */
  mayLookAhead: boolean;
  clock: Clock;
  /** Runs one job; never rejects. Calls `free` when its slot can be used again, at its end at the latest. */
  run(held: HeldJob, free: () => void): Promise<void>;
  /** Releases jobs that were claimed ahead and cannot start soon. */
  giveBack(jobs: HeldJob[]): void;
  /** How many attempts the worker holds in total, including those that are still being reported. */
  heldCount(): number;
};

const claimMax = 256;
/** The most ended jobs whose results wait for a slow hub. */
const endingMax = 1024;
const stuckMs = 2_000;

/** The running jobs, and those that wait to run next. */
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

  /** How many more jobs the worker should claim now. */
  wanted(): number {
    const { slots, heldCount } = this.#options;
    if (heldCount() >= slots + endingMax) return 0;
    const ahead = this.#ahead();
    const missing = slots + ahead - this.#used - this.#waiting.length;
    // While every slot is busy, a call is made only for at least half of the jobs that are kept ready.
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

  /** Ends a waiting job that was cancelled or lost, before its turn. */
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
   * Fills slots in the next turn of the event loop. Otherwise a whole batch of fast functions would run in this turn,
   * before the next claim or the first result could be sent.
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
      // Called even if the slot was free before, because fewer attempts are held now.
      this.#onChange();
    });
  }

  /** If no slot becomes free for a while, the waiting jobs are released for another worker. */
  #watchStuck(): void {
    this.#movedAtMs = this.#options.clock.monotonicMs();
    if (this.#waiting.length > 0) this.#stuckTimer ??= this.#armStuckTimer(stuckMs);
  }

  /** One timer serves many changes: it checks when the last one was, instead of being reset each time. */
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
