import { fits, type WorkerFacts } from "../../core/jobs/queue-key.ts";
import type { Queue } from "./queue-book.ts";

/** Enough for every different kind of worker that one hub serves; beyond it, the oldest are matched again. */
const kindsOfWorkerMax = 1_000;
/** The list of arrivals is rewritten when it is this much longer than what waits. */
const arrivalsSpareMax = 1_000;

/** Workers with the same facts have the same name. */
export type KindOfWorker = { name: string; facts: WorkerFacts };

type Matches = { seen: number; queues: Set<Queue> };

/**
 * The queues of one tenant that hold pending jobs. For each kind of worker it remembers those that fit, so that a claim
 * compares only queues that have begun to hold jobs since the last claim of such a worker, and a queue that is empty, or
 * that does not fit, costs nothing. Why: ADR 0031.
 */
export class WaitingQueues implements Iterable<Queue> {
  readonly #queues = new Set<Queue>();
  /** In the order in which they began to hold jobs; one may be there several times, or be empty again. */
  #arrivals: Queue[] = [];
  readonly #matches = new Map<string, Matches>();

  get size(): number {
    return this.#queues.size;
  }

  [Symbol.iterator](): SetIterator<Queue> {
    return this.#queues.values();
  }

  add(queue: Queue): void {
    if (this.#queues.has(queue)) return;
    this.#queues.add(queue);
    this.#arrivals.push(queue);
    if (this.#arrivals.length > 2 * this.#queues.size + arrivalsSpareMax) this.#startAgain();
  }

  delete(queue: Queue): void {
    this.#queues.delete(queue);
  }

  /** Those that such a worker may claim from. */
  matching({ name, facts }: KindOfWorker): Queue[] {
    const matches = this.#matchesOf(name);
    for (; matches.seen < this.#arrivals.length; matches.seen++) {
      const queue = this.#arrivals[matches.seen]!;
      if (queue.pending > 0 && fits(queue.facts, facts)) matches.queues.add(queue);
    }
    const found: Queue[] = [];
    for (const queue of matches.queues) {
      if (queue.pending > 0) found.push(queue);
      else matches.queues.delete(queue);
    }
    return found;
  }

  #matchesOf(name: string): Matches {
    let matches = this.#matches.get(name);
    if (matches === undefined) {
      matches = { seen: 0, queues: new Set() };
      if (this.#matches.size >= kindsOfWorkerMax) this.#matches.delete(this.#matches.keys().next().value!);
      this.#matches.set(name, matches);
    }
    return matches;
  }

  #startAgain(): void {
    this.#arrivals = [...this.#queues];
    this.#matches.clear();
  }
}
