import type { Queue, QueueBook } from "./queue-book.ts";
import type { ScheduledOf } from "./summarize-queues.ts";

/** How much of one type a tenant has waiting and running. Tenant and type are null in the line for all the rest. */
export type QueueSurveyLine = {
  tenantId: string | null;
  type: string | null;
  /** Without the scheduled ones. */
  pending: number;
  scheduled: number;
  active: number;
  /** Since when the oldest claimable job waits: its creation, or the time for which it or its retry was set; null if there is none, or if it was not looked for. */
  oldestAt: number | null;
};

const linesMax = 200;
const typesPerTenantMax = 20;
/** In how many queues the oldest job is looked for, so that a survey never takes long. */
const lookedQueuesMax = 500;

/** The busiest types, a limited number of each tenant, and the others together. */
export function surveyQueues(
  book: QueueBook,
  { oldestOf, scheduledOf }: { oldestOf: (queue: Queue) => number | null; scheduledOf: ScheduledOf },
): QueueSurveyLine[] {
  const groups = Map.groupBy(
    book.all().filter(({ pending, active }) => pending + active > 0),
    ({ facts }) => JSON.stringify([facts.tenant_id, facts.type]),
  );
  const busiest = [...groups.values()].sort((a, b) => busyness(b) - busyness(a));
  const lines: QueueSurveyLine[] = [];
  const nothing = { pending: 0, scheduled: 0, active: 0, oldestAt: null };
  const others: QueueSurveyLine = { tenantId: null, type: null, ...nothing };
  const ofTenant = new Map<string, number>();
  let looksLeft = lookedQueuesMax;
  for (const queues of busiest) {
    const { tenant_id: tenantId, type } = queues[0]!.facts;
    const count = ofTenant.get(tenantId) ?? 0;
    const hasLine = lines.length < linesMax && count < typesPerTenantMax;
    const line: QueueSurveyLine = hasLine ? { tenantId, type, ...nothing } : others;
    if (hasLine) {
      lines.push(line);
      ofTenant.set(tenantId, count + 1);
    }
    for (const queue of queues) {
      const scheduled = scheduledOf(queue);
      line.pending += queue.pending - scheduled;
      line.scheduled += scheduled;
      line.active += queue.active;
      if (queue.pending === 0 || looksLeft-- <= 0) continue;
      line.oldestAt = older(line.oldestAt, oldestOf(queue));
    }
  }
  return others.pending + others.scheduled + others.active === 0 ? lines : [...lines, others];
}

function busyness(queues: Queue[]): number {
  return queues.reduce((sum, { pending, active }) => sum + pending + active, 0);
}

function older(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
