import { routes } from "../../contract/routes.ts";
import { type JobState, jobStates } from "../../core/job.ts";
import { countText } from "../parts/format.ts";
import { callHub } from "./call-hub.ts";
import { useQuery } from "./use-query.ts";

/** How many jobs are in a state; `isMore` where the hub stopped counting. */
export type Count = { count: number; isMore: boolean };
export type Counts = Record<JobState | "cancelled", Count>;

const everyMs = 5_000;
/** Numbers that change faster cannot be read. */
const whenMs = 2_000;
/** Nobody reads a longer number to the end. */
const exactMax = 10_000;

/**
 * The one place that knows where counts come from: the headers of short lists. When the hub has `/stats`, they come
 * from there, with the series beside them.
 */
export function useCounts(): Counts | undefined {
  return useQuery("counts", loadCounts, { everyMs, whenMs, when: ({ events }) => events.size > 0 }).data;
}

async function loadCounts(): Promise<Counts> {
  const entries = await Promise.all(
    jobStates.map(async (state) => [state, await countJobs({ status: [state] })] as const),
  );
  const counts = Object.fromEntries(entries) as Record<JobState, Count>;
  return { ...counts, ...(await splitFailed(counts.failed)) };
}

/** The hub stores a cancelled job as failed. People who count failures do not mean those, nor do the statistics. */
async function splitFailed(all: Count): Promise<Pick<Counts, "failed" | "cancelled">> {
  if (all.count === 0) return { failed: all, cancelled: all };
  const cancelled = await countJobs({ status: ["failed"], fail_code: "CANCELLED" });
  // Where the hub stopped counting, the difference says nothing.
  const failed = cancelled.isMore
    ? await countJobs({ status: ["failed"], fail_code: "!CANCELLED" })
    : { count: Math.max(0, all.count - cancelled.count), isMore: all.isMore };
  return { failed, cancelled };
}

type Filter = { status?: JobState[]; fail_code?: "CANCELLED" | "!CANCELLED" };

async function countJobs(filter: Filter): Promise<Count> {
  const { header } = await callHub(routes.listJobs, { query: { ...filter, count: true, limit: 1 } });
  const text = header("x-total-count") ?? "0";
  const count = Number.parseInt(text, 10);
  return { count, isMore: text.endsWith("+") };
}

/** `1,284`, `≈84 k` for many, `≥10 k` if there are more than the hub counts. */
export function countLabel({ count, isMore }: Count): string {
  if (isMore) return `≥${Math.floor(count / 1000)} k`;
  if (count >= exactMax) return `≈${countText(Math.round(count / 1000))} k`;
  return countText(count);
}

export function sumCounts(counts: Counts): Count {
  const all = Object.values(counts);
  return {
    count: all.reduce((sum, { count }) => sum + count, 0),
    isMore: all.some(({ isMore }) => isMore),
  };
}
