import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { StatisticsView } from "../../contract/routes/statistics-routes.ts";
import { callHub } from "./call-hub.ts";
import { type Query, useQuery } from "./use-query.ts";

export type Range = StatisticsView["range"];

/** How often statistics are read while jobs change, and while only time passes. */
const busyMs = 5_000;
const idleMs = 20_000;

/** What happened over time; null for a person who may not see it. */
export function useStatistics(
  range: Range,
  { maySee, tenant, type }: { maySee: boolean; tenant?: string | undefined; type?: string | undefined },
): Query<StatisticsView | null> {
  const query = { range, tenant_id: tenant, type };
  const load = async () => (maySee ? (await callHub(pageRoutes.readStatistics, { query })).body : null);
  return useQuery(maySee ? `statistics ${range} ${tenant ?? ""} ${type ?? ""}` : "no statistics", load, {
    everyMs: idleMs,
    whenMs: busyMs,
    when: ({ events }) => events.size > 0,
  });
}
