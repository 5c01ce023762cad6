import { type Candidate, isBetter, type Queue, type QueueBook } from "./queue-book.ts";

/** What was read from a queue and not yet taken, best first. */
type Page = { jobs: Candidate[]; next: number; isLast: boolean };

/** Reads the front of a queue: its claimable jobs, best first. */
type ReadPage = (queue: Queue, limit: number) => Candidate[];

/** A page costs one seek; beyond this many entries, reading on costs more than a second seek. */
const pageMax = 64;

/**
 * The claimable jobs of one tenant's queues, best first: the highest priority, then the oldest. The book knows the front
 * of most queues; the others are read in pages. A candidate that is taken changes, so it does not appear again on the
 * next page. The queues are a heap by their fronts, so that a claim costs little, however many there are.
 * Why: ADR 0031.
 */
export class Candidates {
  readonly #book: QueueBook;
  readonly #readPage: ReadPage;
  readonly #pageSize: number;
  readonly #pages = new Map<Queue, Page>();
  /** Each has a front. */
  readonly #heap: Queue[];
  /** The front of the first queue was taken, and the next one has not been looked for. */
  #isFirstTaken = false;

  constructor(
    book: QueueBook,
    queues: Queue[],
    { wanted, readPage }: { wanted: number; readPage: ReadPage },
  ) {
    this.#book = book;
    this.#readPage = readPage;
    this.#pageSize = Math.min(Math.ceil(wanted / Math.max(queues.length, 1)), pageMax);
    for (const queue of queues) if (queue.front === undefined) this.#turnPage(queue);
    this.#heap = queues.filter(({ front }) => front !== null);
    for (let index = (this.#heap.length >> 1) - 1; index >= 0; index--) this.#sink(index);
  }

  peek(): Candidate | null {
    if (this.#isFirstTaken) this.#moveOn();
    return this.#heap[0]?.front ?? null;
  }

  take(): void {
    if (this.peek() === null) return;
    const queue = this.#heap[0]!;
    const page = this.#pages.get(queue);
    if (page !== undefined) page.next++;
    this.#isFirstTaken = true;
    this.#book.setFront(queue, page?.jobs[page.next] ?? (page?.isLast ? null : undefined));
  }

  #turnPage(queue: Queue): void {
    const jobs = this.#readPage(queue, this.#pageSize);
    this.#pages.set(queue, { jobs, next: 0, isLast: jobs.length < this.#pageSize });
    this.#book.setFront(queue, jobs[0] ?? null);
  }

  /** The queue of the last candidate finds its place by its next one, or leaves. */
  #moveOn(): void {
    this.#isFirstTaken = false;
    const [first] = this.#heap as [Queue];
    if (first.front === undefined) this.#turnPage(first);
    if (first.front === null) {
      const last = this.#heap.pop()!;
      if (last === first) return;
      this.#heap[0] = last;
    }
    this.#sink(0);
  }

  #sink(from: number): void {
    const heap = this.#heap;
    for (let index = from, best = from; ; index = best) {
      const left = 2 * index + 1;
      if (left < heap.length && goesBefore(heap[left]!, heap[best]!)) best = left;
      if (left + 1 < heap.length && goesBefore(heap[left + 1]!, heap[best]!)) best = left + 1;
      if (best === index) return;
      const queue = heap[index]!;
      heap[index] = heap[best]!;
      heap[best] = queue;
    }
  }
}

function goesBefore(a: Queue, b: Queue): boolean {
  return isBetter(a.front!, b.front!);
}

/** One claim promotes no more jobs than this, so that it never takes long. */
export const promotedMax = 1_000;
