import type { Clock } from "../src/runtime/clock/clock.ts";
import { type Random, seededRandom } from "./random.ts";
import { settle } from "./settle.ts";

type WorldEvent = { atMs: number; order: number; life: Life | null; run: () => void };

/** The life of one process, from its start to its stop or crash. What it has planned dies with it. */
export type Life = { readonly name: string; isOver: boolean };

/** An absurdly long schedule is a loop that does not end. */
const eventsMax = 200_000;

/**
 * Time, and everything that happens in it: one event after the other, in an order that only the seed decides. Between two
 * events every promise has run as far as it can.
 */
export class World {
  readonly random: Random;
  readonly story: string[] = [];
  #nowMs = 0;
  #order = 0;
  #done = 0;
  /** A binary heap by time, then by order. */
  readonly #heap: WorldEvent[] = [];

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get eventCount(): number {
    return this.#done;
  }

  /** One sentence of what has happened, for the story of a failed schedule. */
  tell(sentence: string): void {
    this.story.push(`${(this.#nowMs / 1000).toFixed(3).padStart(9)} s  ${sentence}`);
  }

  /** Calls `run` after a while, if the life that planned it is not over by then. */
  after(ms: number, life: Life | null, run: () => void): { cancel(): void } {
    const event: WorldEvent = { atMs: this.#nowMs + Math.max(0, ms), order: this.#order++, life, run };
    push(this.#heap, event);
    return {
      cancel: () => {
        event.run = () => {};
      },
    };
  }

  /** One event after the other, with `check` after each, until `isOver` or the time has come. */
  async run(untilMs: number, isOver: () => boolean, check: () => void): Promise<void> {
    while (this.#heap.length > 0 && this.#heap[0]!.atMs <= untilMs && !isOver()) {
      const event = pop(this.#heap)!;
      this.#nowMs = event.atMs;
      if (event.life?.isOver) continue;
      if (++this.#done > eventsMax) throw new Error(`the schedule has more than ${eventsMax} events`);
      event.run();
      await settle();
      check();
    }
  }

  /** The clock of one process. Its wall time may be set; the time that passes is the same for all. */
  clockOf(life: Life, wall: { offsetMs: number }): Clock {
    return {
      nowMs: () => Math.round(epochMs + this.#nowMs + wall.offsetMs),
      monotonicMs: () => this.#nowMs,
      setTimer: (fn, ms) => this.after(ms, life, fn),
      sleep: (ms, signal) => this.#sleep(life, ms, signal),
    };
  }

  #sleep(life: Life, ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (signal?.aborted) reject(signal.reason);
    const onAbort = (): void => {
      timer.cancel();
      reject(signal!.reason);
    };
    const timer = this.after(ms, life, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
    return promise;
  }
}

/** Any moment will do, as long as it is the same for every run. */
export const epochMs = Date.UTC(2026, 0, 1);

function isBefore(a: WorldEvent, b: WorldEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

function push(heap: WorldEvent[], event: WorldEvent): void {
  let at = heap.push(event) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(event, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = event;
}

function pop(heap: WorldEvent[]): WorldEvent | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
    if (!isBefore(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
  return first;
}
