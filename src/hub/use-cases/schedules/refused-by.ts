import type { FiringOutcome } from "../../../store/order-store.ts";

/** Why the jobs of a firing were refused; null if they were not, or if that is for somebody else to mend. */
export function refusedBy(outcome: FiringOutcome): string | null {
  if (outcome.kind === "unique_held") return "another user's job has the unique key";
  if (outcome.kind === "lane_differs")
    return `another user's job has made lane ${outcome.lane.name} with other numbers`;
  if (outcome.kind === "over_quota") return `the tenant has ${outcome.maxPending} allowed pending jobs`;
  return outcome.kind === "too_many_queues"
    ? `the tenant has pending jobs in ${outcome.maxQueues} allowed queues`
    : null;
}
