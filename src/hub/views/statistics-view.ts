import type { StatisticsView } from "../../contract/routes/statistics-routes.ts";
import type { Activity, Counts } from "../../core/statistics/activity.ts";
import type { Period } from "../../core/statistics/period.ts";
import type { UnrunnableJobs } from "../use-cases/jobs/unrunnable-jobs.ts";

/** One step of a series: it begins at `at`. */
export type Step = { at: number; period: Period };

export type StatisticsReport = {
  /** Null for all tenants. */
  tenantId: string | null;
  from: number;
  until: number;
  stepMs: number;
  steps: Step[];
  whole: Period;
  /** Null if that time is no longer kept. */
  before: Counts | null;
  now: {
    depth: number;
    scheduled: number;
    running: number;
    oldestWaitMs: number;
    unrunnable: UnrunnableJobs;
  };
  states: { completed: number; failed: number; quarantined: number; isMore: boolean };
};

const causesMax = 20;

type StatisticsScope = { range: StatisticsView["range"]; type: string | undefined };

export function statisticsView(report: StatisticsReport, { range, type }: StatisticsScope): StatisticsView {
  const { tenantId, from, until, stepMs, steps, whole, before, now, states } = report;
  const activities = steps.map(({ period }) => period.of(type));
  const total = whole.of(type);
  const { isMore, ...ended } = states;
  return {
    range,
    tenant_id: tenantId,
    type: type ?? null,
    from,
    until,
    step_ms: stepMs,
    series: seriesView(
      steps.map(({ at }) => at),
      activities,
    ),
    totals: { ...total.counts, ...timesView(total) },
    before,
    now: {
      depth: now.depth,
      scheduled: now.scheduled,
      running: now.running,
      oldest_wait_ms: now.oldestWaitMs,
      unrunnable: {
        jobs: now.unrunnable.jobs,
        queues: now.unrunnable.queues.map(({ tenantId: tenant_id, ...queue }) => ({ tenant_id, ...queue })),
      },
    },
    states: { pending: now.depth + now.scheduled, active: now.running, ...ended, is_more: isMore },
    by_type: typesView(whole),
    causes: causesView(report, type),
  };
}

function seriesView(at: number[], activities: Activity[]): StatisticsView["series"] {
  const each = <T>(read: (activity: Activity) => T): T[] => activities.map(read);
  return {
    at,
    submitted: each(({ counts }) => counts.submitted),
    completed: each(({ counts }) => counts.completed),
    failed: each(({ counts }) => counts.failed),
    cancelled: each(({ counts }) => counts.cancelled),
    depth: each(({ gauges }) => gauges.depth),
    oldest_wait_ms: each(({ gauges }) => gauges.oldestWaitMs),
    wait_p50_ms: each(({ wait }) => wait.quantile(0.5)),
    wait_p95_ms: each(({ wait }) => wait.quantile(0.95)),
    run_p50_ms: each(({ run }) => run.quantile(0.5)),
    run_p95_ms: each(({ run }) => run.quantile(0.95)),
  };
}

function timesView({ wait, run }: Activity) {
  return {
    wait_p50_ms: wait.quantile(0.5),
    wait_p95_ms: wait.quantile(0.95),
    run_p50_ms: run.quantile(0.5),
    run_p95_ms: run.quantile(0.95),
  };
}

function typesView(whole: Period): StatisticsView["by_type"] {
  const { named, other } = whole.byType();
  const rows = [...named, ...(other.size > 0 ? [[null, other] as const] : [])];
  return rows.map(([type, { counts, gauges }]) => ({ type, ...counts, depth: gauges.depth }));
}

function causesView({ whole, steps }: StatisticsReport, type: string | undefined): StatisticsView["causes"] {
  const asked = whole.causes().filter((cause) => type === undefined || cause.type === type);
  return asked.slice(0, causesMax).map(({ lastAt, ...cause }) => ({
    ...cause,
    last_at: lastAt,
    series: steps.map(({ period }) => period.failuresOf(cause)),
  }));
}
