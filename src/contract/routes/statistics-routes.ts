import { z } from "zod";
import { rangeNames } from "../../core/statistics/ranges.ts";
import { jobType, tenantId } from "../shapes/fields.ts";
import { route } from "./route.ts";

const count = z.int();
const numbers = z.array(count);
const durations = z.array(count.nullable());

const countsView = z.object({ submitted: count, completed: count, failed: count, cancelled: count });
const timesView = z.object({
  wait_p50_ms: count.nullable(),
  wait_p95_ms: count.nullable(),
  run_p50_ms: count.nullable(),
  run_p95_ms: count.nullable(),
});

const seriesView = z
  .object({
    at: numbers.meta({ description: "Where each step begins" }),
    submitted: numbers,
    completed: numbers,
    failed: numbers.meta({
      description: "Jobs that ended as failed or quarantined; cancelled jobs are apart",
    }),
    cancelled: numbers,
    depth: numbers.meta({ description: "The most that waited" }),
    oldest_wait_ms: numbers.meta({ description: "The longest that the oldest job had waited" }),
    wait_p50_ms: durations,
    wait_p95_ms: durations,
    run_p50_ms: durations,
    run_p95_ms: durations,
  })
  .meta({ description: "One value for each step; null where nothing was measured" });

const causeView = z.object({
  type: z.string(),
  code: z.string(),
  reason: z.string().meta({ description: "Its first 120 characters" }),
  jobs: count,
  last_at: count,
  series: numbers,
});

const unrunnableView = z
  .object({
    jobs: count,
    queues: z
      .array(z.object({ tenant_id: z.string(), type: z.string(), jobs: count, why: z.string() }))
      .meta({ description: "The 5 largest, by tenant and type" }),
  })
  .meta({ description: "Jobs that wait and that no worker can run, as the workers are now" });

const statisticsView = z.object({
  range: z.enum(rangeNames),
  tenant_id: z.string().nullable().meta({ description: "Null for all tenants" }),
  type: z.string().nullable().meta({ description: "Null for all types" }),
  from: count,
  until: count,
  step_ms: count,
  series: seriesView,
  totals: countsView.extend(timesView.shape),
  before: countsView.nullable().meta({ description: "The same span before; null for 30d" }),
  now: z.object({
    depth: count.meta({ description: "Jobs that wait; scheduled ones do not" }),
    scheduled: count
      .optional()
      .meta({ description: "Jobs that have never been claimed, and whose run_at has not come" }),
    running: count,
    oldest_wait_ms: count,
    unrunnable: unrunnableView.optional(),
  }),
  states: z.object({
    pending: count,
    active: count.meta({ description: "Assigned or running" }),
    completed: count,
    failed: count,
    quarantined: count,
    is_more: z.boolean().meta({ description: "Counting ended early: there may be more ended jobs" }),
  }),
  by_type: z
    .array(countsView.extend({ type: z.string().nullable(), depth: count }))
    .meta({ description: "The 50 busiest types, and the others together as null" }),
  causes: z.array(causeView).meta({ description: "Why jobs failed, the most frequent first, at most 20" }),
});
export type StatisticsView = z.infer<typeof statisticsView>;

export const statisticsRoutes = {
  readStatistics: route({
    method: "GET",
    path: "/stats",
    who: ["viewer"],
    summary: "Read what happened over time: of the caller's tenant, or of all for administrators of the hub",
    query: z.strictObject({
      range: z.enum(rangeNames, `must be ${rangeNames.join(", ")}`).optional(),
      type: jobType.optional(),
      tenant_id: tenantId.optional(),
    }),
    answers: {
      200: { description: "Series, totals, types and causes of failure", shape: statisticsView },
      404: { description: "tenant_id names another tenant than the caller's" },
    },
  }),
} as const;
