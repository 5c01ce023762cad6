import { backOffMs } from "../clock/back-off.ts";
import type { Clock } from "../clock/clock.ts";

type ChoiceDeps = { clock: Pick<Clock, "monotonicMs">; random: () => number };

/** How long a hub that failed is left alone, if there is another one. */
const rest = { firstMs: 1_000, maxMs: 30_000 };

/**
 * Which of several hubs of one installation to call. A client stays with the one that answers, and leaves it only when
 * it fails. It does not go back by itself, so a hub that has returned is not overrun by all who left it. Why: ADR 0082.
 */
export class HubChoice {
  readonly #deps: ChoiceDeps;
  readonly #hubs: { failures: number; restsUntilMs: number }[];
  #current: number;
  #moves = 0;

  constructor(count: number, deps: ChoiceDeps) {
    this.#deps = deps;
    this.#hubs = Array.from({ length: count }, () => ({ failures: 0, restsUntilMs: 0 }));
    // By chance: if all clients began with the first address, the other hubs would have nothing to do.
    this.#current = Math.min(count - 1, Math.floor(deps.random() * count));
  }

  /** The hub that answered last, or that is called first. */
  get current(): number {
    return this.#current;
  }

  /** How often another hub has become the current one. */
  get moves(): number {
    return this.#moves;
  }

  /** Every hub once: the current one first, and those that rest last, because one of them is better than none. */
  order(): number[] {
    const count = this.#hubs.length;
    if (count === 1) return [0];
    const nowMs = this.#deps.clock.monotonicMs();
    const all = this.#hubs.map((_, index) => (this.#current + index) % count);
    const restMs = (index: number): number => Math.max(0, this.#hubs[index]!.restsUntilMs - nowMs);
    return all.toSorted((a, b) => restMs(a) - restMs(b));
  }

  /** One more hub, which becomes the current one only when it has answered. */
  add(): number {
    return this.#hubs.push({ failures: 0, restsUntilMs: 0 }) - 1;
  }

  answered(index: number): void {
    const hub = this.#hubs[index]!;
    hub.failures = 0;
    hub.restsUntilMs = 0;
    // An answer that was under way while the client moved elsewhere does not bring it back.
    if (index === this.#current || this.#hubs[this.#current]!.failures === 0) return;
    this.#current = index;
    this.#moves++;
  }

  /** Many calls may fail together; they are one failure. */
  failed(index: number): void {
    if (this.#isResting(index)) return;
    const hub = this.#hubs[index]!;
    const { clock, random } = this.#deps;
    hub.restsUntilMs = clock.monotonicMs() + backOffMs(hub.failures++, { ...rest, random });
  }

  #isResting(index: number): boolean {
    return this.#hubs[index]!.restsUntilMs > this.#deps.clock.monotonicMs();
  }
}
