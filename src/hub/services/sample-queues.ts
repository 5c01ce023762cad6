import type { Gauges } from "../../core/statistics/activity.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Store } from "../../store/store.ts";

/** What waits now; without a type for all types of the tenant, without a tenant for all tenants. */
type Sample = Gauges & { tenantId: string | null; type: string | null };

/** How many jobs wait and how long the oldest has waited. Tenants without waiting jobs are left out. */
export async function sampleQueues({
  store,
  clock,
}: {
  store: Pick<Store, "listQuotas" | "surveyQueues">;
  clock: Clock;
}): Promise<Sample[]> {
  const waiting = (await store.listQuotas()).filter(({ pending }) => pending > 0);
  if (waiting.length === 0) return [];
  const lines = await store.surveyQueues();
  const nowMs = clock.nowMs();
  const waited = (oldestAt: number | null) => (oldestAt === null ? 0 : Math.max(0, nowMs - oldestAt));
  const oldest = (of: typeof lines) => Math.max(0, ...of.map(({ oldestAt }) => waited(oldestAt)));
  const depth = waiting.reduce((sum, { pending }) => sum + pending, 0);
  return [
    { tenantId: null, type: null, depth, oldestWaitMs: oldest(lines) },
    ...waiting.map(({ tenantId, pending }) => ({
      tenantId,
      type: null,
      depth: pending,
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
