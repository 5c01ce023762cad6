import type { Clock, Timer } from "../clock/clock.ts";

type PulseDeps = {
  clock: Clock;
  /** Asks the hub for a sign of life; rejects if there is none. */
  ask(): Promise<void>;
};

/** Nearly every call has been answered by then. */
const askAfterMs = 3_000;
/** What waits for good reason, such as a parked claim, is looked after at longer intervals. */
const askAgainMs = 15_000;

type SilentStream = { dueAtMs: number; silenceMsMax: number };

/**
 * Tells a slow hub from one that is frozen: it accepts connections, and nothing ever comes back. While something has
 * waited for long, and nothing else has come from the hub, it is asked for a sign of life. If there is none, all that
 * waits is given up at once. Why: ADR 0082.
 */
export class HubPulse {
  readonly #deps: PulseDeps;
  readonly #waiting = new Map<() => void, SilentStream>();
  #seenAtMs = Number.NEGATIVE_INFINITY;
  #next: { atMs: number; timer: Timer } | undefined;
  #isClosed = false;

  constructor(deps: PulseDeps) {
    this.#deps = deps;
  }

  /** Calls `onFrozen` at most once, unless it is released before. */
  watch(onFrozen: () => void): () => void {
    const dueAtMs = this.#deps.clock.monotonicMs() + askAfterMs;
    this.#waiting.set(onFrozen, { dueAtMs, silenceMsMax: askAfterMs });
    this.#plan(dueAtMs);
    return () => this.#waiting.delete(onFrozen);
  }

  /** Something came from the hub. */
  seen(): void {
    this.#seenAtMs = this.#deps.clock.monotonicMs();
  }

  close(): void {
    this.#isClosed = true;
    this.#next?.timer.cancel();
    this.#waiting.clear();
  }

  #plan(atMs: number): void {
    if (this.#isClosed || (this.#next !== undefined && this.#next.atMs <= atMs)) return;
    this.#next?.timer.cancel();
    const { clock } = this.#deps;
    this.#next = { atMs, timer: clock.setTimer(() => void this.#look(), atMs - clock.monotonicMs()) };
  }

  async #look(): Promise<void> {
    const nowMs = this.#deps.clock.monotonicMs();
    const due = [...this.#waiting.values()].filter(({ dueAtMs }) => dueAtMs <= nowMs);
    // Until the answer is there, the time of this look stays set, so that no other call asks.
    if (due.some(({ silenceMsMax }) => this.#seenAtMs + silenceMsMax <= nowMs)) await this.#ask();
    for (const one of due) {
      one.silenceMsMax = askAgainMs;
      one.dueAtMs = this.#seenAtMs + askAgainMs;
    }
    this.#next = undefined;
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const { dueAtMs } of this.#waiting.values()) soonestMs = Math.min(soonestMs, dueAtMs);
    if (this.#waiting.size > 0) this.#plan(soonestMs);
  }

  async #ask(): Promise<void> {
    try {
      await this.#deps.ask();
      this.seen();
    } catch {
      // Any failure, a timeout among them, means that the hub does not answer.
      const frozen = [...this.#waiting.keys()];
      this.#waiting.clear();
      for (const onFrozen of frozen) onFrozen();
    }
  }
}
