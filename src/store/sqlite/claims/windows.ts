import type { Candidate, Queue } from "../../queues/queue-book.ts";

/** Enough for some seconds of work; what is behind it is read from the table when its turn comes. */
const windowMax = 8_192;
const refillJobs = 2_048;
const priorities = 10;

/** The claimable jobs at the front of a queue, by priority, each list in the order of age. */
type Window = { lists: (number[] | undefined)[]; heads: number[]; size: number; isWhole: boolean };

/** Reads the best claimable jobs of a queue from the table, which has to be complete then. */
type Refill = (queue: Queue, limit: number) => Candidate[];

/**
 * The front of every queue, so that a claim reads no index. A window that is not whole has the best jobs of its queue and not all of
 * them; it is filled again when it has fewer than are asked for. Why: ADR 0116.
 */
export class Windows {
  readonly #windows = new Map<number, Window>();
  readonly #refill: Refill;

  constructor(refill: Refill) {
    this.#refill = refill;
  }

  /** At most `limit` of the best claimable jobs, best first. Fewer are all that the queue has. */
  front(queue: Queue, limit: number): Candidate[] {
    const window = this.#windowOf(queue, limit);
    const found: Candidate[] = [];
    for (let priority = priorities; priority >= 0 && found.length < limit; priority--) {
      const list = window.lists[priority];
      if (list === undefined) continue;
      for (let at = window.heads[priority]!; at < list.length && found.length < limit; at++)
        found.push({ seq: list[at]!, priority });
    }
    return found;
  }

  add(queue: Queue, { seq, priority }: Candidate): void {
    const window = this.#windows.get(queue.id);
    if (window === undefined) {
      // The only pending job of a queue is all that it has.
      if (queue.pending > 1) return;
      this.#windows.set(queue.id, { lists: [], heads: [], size: 0, isWhole: true });
      this.add(queue, { seq, priority });
      return;
    }
    if (!window.isWhole && !this.#isInside(window, { seq, priority })) return;
    insert(window, { seq, priority });
    if (window.size > windowMax) dropWorst(window);
  }

  remove(queue: Queue, { seq, priority }: Candidate): void {
    const window = this.#windows.get(queue.id);
    const list = window?.lists[priority];
    if (window === undefined || list === undefined) return;
    const at = placeOf(list, seq, window.heads[priority]!);
    if (list[at] !== seq) return;
    window.size--;
    if (at !== window.heads[priority]) {
      list.splice(at, 1);
      return;
    }
    window.heads[priority] = at + 1;
    if (at + 1 === list.length) {
      window.lists[priority] = [];
      window.heads[priority] = 0;
    } else if (at > 1_000 && at * 2 > list.length) {
      window.lists[priority] = list.slice(at + 1);
      window.heads[priority] = 0;
    }
  }

  /** Nothing is known any more. */
  clear(): void {
    this.#windows.clear();
  }

  #windowOf(queue: Queue, wanted: number): Window {
    const known = this.#windows.get(queue.id);
    if (known !== undefined && (known.size >= wanted || known.isWhole)) return known;
    const jobs = this.#refill(queue, refillJobs);
    const window: Window = { lists: [], heads: [], size: 0, isWhole: jobs.length < refillJobs };
    for (const job of jobs) insert(window, job);
    this.#windows.set(queue.id, window);
    return window;
  }

  /** Whether it is before the worst job of the window, so that nothing in the table comes between. */
  #isInside(window: Window, { seq, priority }: Candidate): boolean {
    for (let worst = 0; worst <= priorities; worst++) {
      const list = window.lists[worst];
      if (list === undefined || list.length === 0) continue;
      return priority > worst || (priority === worst && seq < list.at(-1)!);
    }
    return false;
  }
}

function insert(window: Window, { seq, priority }: Candidate): void {
  window.lists[priority] ??= [];
  window.heads[priority] ??= 0;
  const list = window.lists[priority];
  const head = window.heads[priority];
  if (list.length === 0 || list.at(-1)! < seq) list.push(seq);
  else {
    const at = placeOf(list, seq, head);
    if (list[at] === seq) return;
    list.splice(at, 0, seq);
  }
  window.size++;
}

/** The job behind all others is only in the table from now on. */
function dropWorst(window: Window): void {
  const list = window.lists.find((each) => each !== undefined && each.length > 0)!;
  list.pop();
  window.size--;
  window.isWhole = false;
}

/** The place of the first number from `head` on that is not below this one. */
function placeOf(list: number[], seq: number, head: number): number {
  let low = head;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]! < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
