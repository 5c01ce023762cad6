import { WritError } from "../../../core/errors.ts";
import type { Identity } from "../../../core/identity.ts";
import type { Counts } from "../../../core/statistics/activity.ts";
import { Period } from "../../../core/statistics/period.ts";
import { periodStart, ranges, resolutions, type StatisticsRange } from "../../../core/statistics/ranges.ts";
import type { HubDeps } from "../../deps.ts";
import { sampleQueues } from "../../services/metrics/sample-queues.ts";
import type { StatisticsReport, Step } from "../../views/statistics-view.ts";
import { isHidden } from "../access/tenant-wall.ts";
import { unrunnableJobs } from "./unrunnable-jobs.ts";

type Request = {
  identity: Identity;
  /** One tenant, for a caller who may see all of them. */
  tenantId: string | undefined;
  range: StatisticsRange;
  type: string | undefined;
};
type Scope = { tenantId: string | null; type: string | undefined };

/**
 * The statistics of the caller's tenant; for a caller who sees all tenants, of all of them or of one. It reads a
 * limited number of stored periods, however long the history is.
 */
export async function readStatistics(deps: HubDeps, request: Request): Promise<StatisticsReport> {
  const { spanMs, lengthMs, stepMs } = ranges[request.range];
  const scope = { tenantId: tenantOf(request), type: request.type };
  const { tenantId } = scope;
  const until = periodStart(deps.clock.nowMs(), stepMs) + stepMs;
  const from = until - spanMs;
  const stored = await deps.store.readStatistics({ tenantId, lengthMs, from, until });
  const periods = [
    ...stored.map(({ start, period }) => ({ start, period: Period.read(period) })),
    ...deps.statistics.recent(tenantId).filter(({ start }) => start >= from),
  ];
  return {
    tenantId,
    from,
    until,
    stepMs,
    steps: stepsOf(periods, { from, stepMs, count: spanMs / stepMs }),
    whole: sumOf(periods),
    before: await countsBefore(deps, { ...scope, from, spanMs }),
    now: await readNow(deps, scope),
    states: await readStates(deps, tenantId),
  };
}

function tenantOf({ identity, tenantId }: Request): string | null {
  if (tenantId === undefined) return identity.tenantId;
  if (isHidden(identity, { tenantId })) throw new WritError("NOT_FOUND", `there is no tenant ${tenantId}`);
  return tenantId;
}

type Stored = { start: number; period: Period };

function stepsOf(
  periods: Stored[],
  { from, stepMs, count }: { from: number; stepMs: number; count: number },
): Step[] {
  const steps = Array.from({ length: count }, (_, index) => ({
    at: from + index * stepMs,
    period: new Period(),
  }));
  for (const { start, period } of periods) steps[Math.floor((start - from) / stepMs)]?.period.merge(period);
  return steps;
}

function sumOf(periods: Stored[]): Period {
  const sum = new Period();
  for (const { period } of periods) sum.merge(period);
  return sum;
}

/** The counts of the previous span, to compare with, at the finest length of periods that are still kept. */
async function countsBefore(
  deps: HubDeps,
  { tenantId, type, from, spanMs }: Scope & { from: number; spanMs: number },
): Promise<Counts | null> {
  const resolution = resolutions.find(({ keptMs }) => keptMs >= 2 * spanMs);
  if (resolution === undefined) return null;
  const { lengthMs } = resolution;
  const until = periodStart(from, lengthMs);
  const stored = await deps.store.readStatistics({ tenantId, lengthMs, from: until - spanMs, until });
  const periods = stored.map(({ start, period }) => ({ start, period: Period.read(period) }));
  return sumOf(periods).of(type).counts;
}

async function readNow(deps: HubDeps, { tenantId, type }: Scope): Promise<StatisticsReport["now"]> {
  const queues = (await deps.store.listQueues()).filter(
    (queue) =>
      (tenantId === null || queue.tenantId === tenantId) && (type === undefined || queue.type === type),
  );
  const samples = (await sampleQueues(deps)).filter(
    (sample) =>
      sample.type === (type ?? null) &&
      (sample.tenantId === tenantId || (tenantId === null && type !== undefined)),
  );
  return {
    depth: queues.reduce((sum, { pending, scheduled }) => sum + pending - scheduled, 0),
    scheduled: queues.reduce((sum, { scheduled }) => sum + scheduled, 0),
    unrunnable: await unrunnableJobs(deps, { tenantId, type }),
    running: queues.reduce((sum, { active }) => sum + active, 0),
    oldestWaitMs: Math.max(0, ...samples.map(({ oldestWaitMs }) => oldestWaitMs)),
  };
}

/** The counts for all tenants are known; those for one tenant are counted, up to a bound. */
async function readStates(deps: HubDeps, tenantId: string | null): Promise<StatisticsReport["states"]> {
  if (tenantId === null) {
    const { completed, failed, quarantined } = (await deps.store.ping()).jobs;
    return { completed, failed, quarantined, isMore: false };
  }
  const count = (status: "completed" | "failed" | "quarantined") =>
    deps.store.countJobs({ tenantId, statuses: [status] });
  const [completed, failed, quarantined] = [
    await count("completed"),
    await count("failed"),
    await count("quarantined"),
  ];
  return {
    completed: completed.count,
    failed: failed.count,
    quarantined: quarantined.count,
    isMore: completed.isMore || failed.isMore || quarantined.isMore,
  };
}
