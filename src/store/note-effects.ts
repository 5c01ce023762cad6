import type { CountChanges, Effects } from "../core/effects.ts";
import { mayRunMore } from "../core/quota.ts";
import type { NoticeBuilder } from "./notice-builder.ts";
import type { QueueBook } from "./queue-book.ts";

type Memory = { book: QueueBook; notice: NoticeBuilder };

/** Updates the book with a change, and collects whom to notify after the commit. */
export function noteEffects({ book, notice }: Memory, { after, counts, notices }: Effects): void {
  if (counts !== null) count({ book, notice }, after.queueKey, counts);
  if (notices.isLogged) notice.job(after.id);
  if (notices.isReady) notice.ready(after.queueKey, 1);
  if (notices.signal !== null) notice.signal(notices.signal.workerId, after.id, notices.signal.signal);
}

function count({ book, notice }: Memory, queueKey: string, counts: CountChanges): void {
  const { jobs, pending, active } = counts;
  const queue = book.byKey(queueKey);
  if (queue === undefined || (jobs === 0 && pending === 0 && active === 0)) return;
  book.adjust(queue, counts);
  if (active < 0) wakeHeldBack({ book, notice }, queue.tenant.id);
}

/**
 * A tenant that was at its limit of running jobs may take one more, so workers that wait for its queues must be told.
 */
function wakeHeldBack({ book, notice }: Memory, tenantId: string): void {
  const tenant = book.tenant(tenantId);
  if (mayRunMore(tenant.active + 1, book.quota(tenantId))) return;
  for (const queue of tenant.queues) if (queue.pending > 0) notice.ready(queue.key, 1);
}
