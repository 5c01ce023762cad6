import type { Gauges } from "../../../core/statistics/activity.ts";
import type { Clock } from "../../../runtime/clock/clock.ts";
import type { QueueSummary, Store } from "../../../store/store.ts";

/** The waiting jobs at a moment; a null type stands for all types of the tenant, a null tenant for all tenants. */
type Sample = Gauges & { tenantId: string | null; type: string | null };

/** How many jobs wait and how long the oldest has waited. Tenants without waiting jobs are left out. */
export async function sampleQueues({
  store,
  clock,
}: {
  store: Pick<Store, "listQueues" | "surveyQueues">;
  clock: Clock;
}): Promise<Sample[]> {
  const waiting = waitingByTenant(await store.listQueues());
  if (waiting.size === 0) return [];
  const lines = await store.surveyQueues();
  const nowMs = clock.nowMs();
  const waited = (oldestAt: number | null) => (oldestAt === null ? 0 : Math.max(0, nowMs - oldestAt));
  const oldest = (of: typeof lines) => Math.max(0, ...of.map(({ oldestAt }) => waited(oldestAt)));
  const depth = [...waiting.values()].reduce((sum, jobs) => sum + jobs, 0);
  return [
    { tenantId: null, type: null, depth, oldestWaitMs: oldest(lines) },
    ...Array.from(waiting, ([tenantId, jobs]) => ({
      tenantId,
      type: null,
      depth: jobs,
      oldestWaitMs: oldest(lines.filter((line) => line.tenantId === tenantId)),
    })),
    ...lines
      .filter(({ type, pending }) => type !== null && pending > 0)
      .map(({ tenantId, type, pending, oldestAt }) => ({
        tenantId,
        type,
        depth: pending,
        oldestWaitMs: waited(oldestAt),
      })),
  ];
}

/** Scheduled jobs are not waiting: no worker may run them yet. */
function waitingByTenant(queues: readonly QueueSummary[]): Map<string, number> {
  const waiting = new Map<string, number>();
  for (const { tenantId, pending, scheduled } of queues) {
    if (tenantId === null || pending === scheduled) continue;
    waiting.set(tenantId, (waiting.get(tenantId) ?? 0) + pending - scheduled);
  }
  return waiting;
}
