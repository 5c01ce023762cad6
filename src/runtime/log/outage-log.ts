import type { Clock } from "../clock/clock.ts";

/** Often enough for somebody who looks at the end of a log, and seldom enough to leave room for everything else. */
const remindMs = 60_000;

type OutageLines<Cause> = {
  begins(cause: Cause): void;
  lasts(cause: Cause, howLong: string): void;
  ends(howLong: string): void;
};

/** Writes few lines about an outage, however many calls notice it: when it begins, once a minute, and when it is over. */
export class OutageLog<Cause = unknown> {
  readonly #clock: Clock;
  readonly #lines: OutageLines<Cause>;
  #begun: { atMs: number; loggedAtMs: number; noticedAtMs: number } | null = null;

  constructor(clock: Clock, lines: OutageLines<Cause>) {
    this.#clock = clock;
    this.#lines = lines;
  }

  get isOn(): boolean {
    return this.#begun !== null;
  }

  /** How long ago a call has noticed it last. */
  get quietMs(): number {
    return this.#clock.monotonicMs() - (this.#begun?.noticedAtMs ?? Number.NEGATIVE_INFINITY);
  }

  noticed(cause: Cause): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#begun === null) {
      this.#begun = { atMs: nowMs, loggedAtMs: nowMs, noticedAtMs: nowMs };
      this.#lines.begins(cause);
      return;
    }
    this.#begun.noticedAtMs = nowMs;
    if (nowMs - this.#begun.loggedAtMs < remindMs) return;
    this.#begun.loggedAtMs = nowMs;
    this.#lines.lasts(cause, this.#howLong(this.#begun.atMs));
  }

  over(): void {
    if (this.#begun === null) return;
    const { atMs } = this.#begun;
    this.#begun = null;
    this.#lines.ends(this.#howLong(atMs));
  }

  #howLong(sinceMs: number): string {
    const seconds = Math.max(1, Math.round((this.#clock.monotonicMs() - sinceMs) / 1000));
    return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  }
}
