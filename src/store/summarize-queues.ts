import type { QueueBook } from "./queue-book.ts";
import type { QueueSummary } from "./store.ts";

/** One line for each tenant and type, whatever else distinguishes their queues. */
export function summarizeQueues(book: QueueBook): QueueSummary[] {
  const summaries = new Map<string, QueueSummary>();
  for (const { facts, pending, active } of book.all()) {
    const name = JSON.stringify([facts.tenant_id, facts.type]);
    const before = summaries.get(name) ?? { pending: 0, active: 0 };
    summaries.set(name, {
      tenantId: facts.tenant_id,
      type: facts.type,
      paused: book.isPaused(facts.type),
      pending: before.pending + pending,
      active: before.active + active,
    });
  }
  return [...summaries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, summary]) => summary);
}
