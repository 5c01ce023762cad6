import type { Queue } from "./queue-book.ts";

export type Candidate = { seq: number; priority: number };
type Head = { queue: Queue; page: Candidate[]; next: number; exhausted: boolean };

/** Reads the front of a queue: its claimable jobs, best first. */
export type ReadPage = (queue: Queue, limit: number) => Candidate[];

/** A page costs one seek; beyond this many entries, reading on costs more than a second seek. */
const pageMax = 64;

/**
 * The claimable jobs of one tenant's queues, best first: the highest priority, then the oldest. Each queue is read in
 * pages from its front. A candidate that is taken changes, so it does not appear again on the next page.
 */
export class Candidates {
  readonly #heads: Head[];
  readonly #readPage: ReadPage;
  readonly #pageSize: number;

  constructor(queues: Queue[], wanted: number, readPage: ReadPage) {
    this.#heads = queues.map((queue) => ({ queue, page: [], next: 0, exhausted: false }));
    this.#readPage = readPage;
    this.#pageSize = Math.min(wanted, pageMax);
  }

  peek(): Candidate | null {
    return this.#best()?.candidate ?? null;
  }

  take(): void {
    const best = this.#best();
    if (best !== null) best.head.next++;
  }

  #best(): { head: Head; candidate: Candidate } | null {
    let best: { head: Head; candidate: Candidate } | null = null;
    for (const head of this.#heads) {
      const candidate = this.#front(head);
      if (candidate !== null && (best === null || goesBefore(candidate, best.candidate)))
        best = { head, candidate };
    }
    return best;
  }

  #front(head: Head): Candidate | null {
    if (head.next === head.page.length && !head.exhausted) this.#turnPage(head);
    return head.page[head.next] ?? null;
  }

  #turnPage(head: Head): void {
    head.page = this.#readPage(head.queue, this.#pageSize);
    head.next = 0;
    head.exhausted = head.page.length < this.#pageSize;
  }
}

function goesBefore(a: Candidate, b: Candidate): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.seq < b.seq);
}
