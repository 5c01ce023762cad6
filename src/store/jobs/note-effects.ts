import type { CountChanges, Effects } from "../../core/jobs/effects.ts";
import { observationOf } from "../../core/statistics/observation.ts";
import type { Queue, QueueBook } from "../queues/queue-book.ts";
import type { NoticeBuilder } from "./notice-builder.ts";

type Memory = { book: QueueBook; notice: NoticeBuilder };

/** Updates the book with a change, and collects whom to notify after the commit. Why: ADR 0022. */
export function noteEffects({ book, notice }: Memory, effects: Effects): void {
  const { after, readiness, counts, notices } = effects;
  const queue = book.byKey(after.queueKey);
  if (queue !== undefined) {
    if (counts !== null) count({ book, notice }, queue, counts);
    if (readiness === "now") book.nowReady(queue, after);
    else book.notReady(queue, after.seq);
  }
  const observed = counts && observationOf(after, counts);
  if (observed !== null) notice.observe(observed);
  if (notices.isLogged) notice.job(after.id);
  if (notices.isReady) notice.ready(after.queueKey, 1);
  if (notices.signal !== null) notice.signal(notices.signal.workerId, after.id, notices.signal.signal);
}

function count({ book, notice }: Memory, queue: Queue, counts: CountChanges): void {
  const { jobs, pending, active } = counts;
  if (jobs === 0 && pending === 0 && active === 0) return;
  book.adjust(queue, counts);
  if (active < 0) wakeHeldBack({ book, notice }, queue.tenant.id);
}

/** More queues than one free place is worth; workers that fit only others find it with their next look. */
const wokenQueuesMax = 1_000;

/**
 * A tenant with a limit of running jobs may take one more, so workers that wait for its queues must be told. Even if it was
 * not at its limit: another transaction may have filled the last place meanwhile, of which the book does not know yet,
 * and a claim that found it full waits until it is told.
 */
function wakeHeldBack({ book, notice }: Memory, tenantId: string): void {
  const tenant = book.tenant(tenantId);
  if (book.quota(tenantId).max_running === undefined) return;
  for (const queue of tenant.waiting[Symbol.iterator]().take(wokenQueuesMax)) notice.ready(queue.key, 1);
}
