import type { JobCounts, ListFilter } from "../../contract/list-query.ts";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { countText } from "../parts/format.ts";
import { callHub } from "./call-hub.ts";
import { useQuery } from "./use-query.ts";

export type Counts = JobCounts;
/** How many jobs are in a state; `is_more` where the hub stopped counting. */
export type Count = Counts["failed"];
/** Which jobs are counted. It has no state, because the answer has one count for each. */
type CountFilter = Omit<ListFilter, "status">;

/** The stream tells when a count can have changed, except when a scheduled job becomes due. */
const everyMs = 60_000;
/** With a time in the filter, counts change as time passes. */
const timedMs = 15_000;
/** Numbers that change faster cannot be read. */
const whenMs = 2_000;
/** From here on a count is shown in thousands. */
const exactMax = 10_000;

/** How many of all jobs are in each state. */
export function useCounts(): Counts | undefined {
  return useCountsOf("{}", () => ({}));
}

/**
 * The same for the jobs that a filter finds. `key` stands for the filter, whose relative times count from each request.
 */
export function useCountsOf(key: string, filter: () => CountFilter): Counts | undefined {
  const load = async () => (await callHub(pageRoutes.countJobs, { query: filter() })).body;
  const isTimed = filter().since !== undefined || filter().until !== undefined;
  return useQuery(`counts ${key}`, load, {
    everyMs: isTimed ? timedMs : everyMs,
    whenMs,
    when: ({ events }) => events.size > 0,
  }).data;
}

/**
 * `1,284`, `≈84 k` for many, `≥10 k` if there are more than the hub counts. A count that stopped before it found
 * anything is unknown.
 */
export function countLabel({ count, is_more }: Count): string {
  if (is_more && count === 0) return "?";
  if (is_more) return count < 1000 ? `≥${count}` : `≥${Math.floor(count / 1000)} k`;
  if (count >= exactMax) return `≈${countText(Math.round(count / 1000))} k`;
  return countText(count);
}

export function sumCounts(counts: Counts): Count {
  const all = Object.values(counts);
  return {
    count: all.reduce((sum, { count }) => sum + count, 0),
    is_more: all.some(({ is_more }) => is_more),
  };
}
