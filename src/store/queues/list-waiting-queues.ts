import type { QueueFacts } from "../../core/jobs/queue-key.ts";
import type { QueueBook } from "./queue-book.ts";
import type { ScheduledOf } from "./summarize-queues.ts";

/** A queue that is not paused, and how many of its jobs wait. Scheduled ones do not; those to be tried again do. */
export type WaitingQueue = { facts: QueueFacts; waiting: number };

/** Each is compared with every worker, and a longer list is of no use. */
const queuesMax = 500;

/** The longest queues with waiting jobs; those of paused types are left out. */
export function listWaitingQueues(book: QueueBook, scheduledOf: ScheduledOf): WaitingQueue[] {
  return book
    .all()
    .filter(({ facts, pending }) => pending > 0 && !book.isPaused(facts.type))
    .map((queue) => ({ facts: queue.facts, waiting: queue.pending - scheduledOf(queue) }))
    .filter(({ waiting }) => waiting > 0)
    .sort((a, b) => b.waiting - a.waiting)
    .slice(0, queuesMax);
}
