import type { QueueFacts } from "../core/queue-key.ts";
import type { Queue, QueueBook } from "./queue-book.ts";

/** A queue whose jobs could be claimed now. */
export type WaitingQueue = { facts: QueueFacts; pending: number };

/** Each needs a look into the database, and a list of more helps nobody. */
const queuesMax = 500;

/** The longest queues that hold a claimable job and are not paused. */
export function listWaitingQueues(book: QueueBook, hasClaimable: (queue: Queue) => boolean): WaitingQueue[] {
  return book
    .all()
    .filter(({ pending, facts }) => pending > 0 && !book.isPaused(facts.type))
    .sort((a, b) => b.pending - a.pending)
    .slice(0, queuesMax)
    .filter(hasClaimable)
    .map(({ facts, pending }) => ({ facts, pending }));
}
