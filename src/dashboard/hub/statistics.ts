import { routes } from "../../contract/routes.ts";
import type { StatisticsView } from "../../contract/statistics-routes.ts";
import { callHub } from "./call-hub.ts";
import { type Query, useQuery } from "./use-query.ts";

export type Range = StatisticsView["range"];

const everyMs = 5_000;

/** What happened over time, for those who may see it; null for everybody else. */
export function useStatistics(range: Range, maySee: boolean): Query<StatisticsView | null> {
  const load = async () => (await callHub(routes.readStatistics, { query: { range } })).body;
  return useQuery(maySee ? `statistics ${range}` : "no statistics", maySee ? load : async () => null, {
    everyMs,
  });
}
