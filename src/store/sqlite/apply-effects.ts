import type { CountChanges, Effects } from "../../core/effects.ts";
import type { Context } from "./context.ts";
import { appendEvent } from "./event-log.ts";

/** Carries out what follows from a change beside its row: events, counters, and what others hear after the commit. */
export function applyEffects(context: Context, { after, events, counts, notices }: Effects): void {
  for (const event of events) appendEvent(context, event);
  if (counts !== null) count(context, after.queueKey, counts);
  if (notices.isLogged) context.notice.job(after.id);
  if (notices.isReady) context.notice.ready(after.queueKey, 1);
  if (notices.signal !== null)
    context.notice.signal(notices.signal.workerId, after.id, notices.signal.signal);
}

function count(context: Context, queueKey: string, counts: CountChanges): void {
  const { from, to, jobs, pending, active, worker } = counts;
  if (from !== null) context.tallies.add(`jobs.${from}`, -1);
  if (to !== null) context.tallies.add(`jobs.${to}`, 1);
  if (worker !== null) context.workers.add(worker.id, worker);
  const queue = context.book.byKey(queueKey);
  if (queue === undefined || (jobs === 0 && pending === 0 && active === 0)) return;
  context.book.adjust(queue, counts);
  if (active < 0) wakeHeldBack(context, queue.tenant.id);
}

/** A tenant that was at its limit of running jobs may take one more: whoever waits for its queues must hear it. */
function wakeHeldBack(context: Context, tenantId: string): void {
  const limit = context.book.quota(tenantId).max_running;
  const tenant = context.book.tenant(tenantId);
  if (limit === undefined || tenant.active + 1 < limit) return;
  for (const queue of tenant.queues) {
    if (queue.pending > 0) context.notice.ready(queue.key, 1);
  }
}
