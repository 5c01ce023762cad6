import type { QueueSummary } from "../store.ts";
import type { Queue, QueueBook } from "./queue-book.ts";

/** How many jobs of a queue are scheduled: never claimed, and before their time. */
export type ScheduledOf = (queue: Queue) => number;

/**
 * One line for each tenant and type, whatever else distinguishes their queues. A paused type without jobs is listed too,
 * for no tenant: otherwise the list would not show why its next job waits.
 */
export function summarizeQueues(book: QueueBook, scheduledOf: ScheduledOf): QueueSummary[] {
  const summaries = new Map<string, QueueSummary>();
  for (const queue of book.all()) {
    const { facts, pending, active } = queue;
    const name = JSON.stringify([facts.tenant_id, facts.type]);
    const before = summaries.get(name) ?? { pending: 0, scheduled: 0, active: 0 };
    summaries.set(name, {
      tenantId: facts.tenant_id,
      type: facts.type,
      paused: book.isPaused(facts.type),
      pending: before.pending + pending,
      scheduled: before.scheduled + scheduledOf(queue),
      active: before.active + active,
    });
  }
  const known = new Set([...summaries.values()].map(({ type }) => type));
  for (const type of book.pausedTypes().filter((paused) => !known.has(paused))) {
    summaries.set(JSON.stringify([null, type]), {
      tenantId: null,
      type,
      paused: true,
      pending: 0,
      scheduled: 0,
      active: 0,
    });
  }
  return [...summaries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, summary]) => summary);
}
