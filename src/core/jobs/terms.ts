import type { LaneTerm } from "../lanes/lane.ts";
import type { RetryPolicy } from "../retry/retry-policy.ts";
import type { Unique } from "../unique/unique.ts";
import type { JobRecord } from "./job.ts";

/** What only the hub reads of a job, by the names of its submission. It never changes. Why: ADR 0128. */
type Terms = {
  retry?: RetryPolicy | undefined;
  finish_within_sec?: number | undefined;
  labels?: string[] | undefined;
  keep_sec?: number | undefined;
  unique?: Unique | undefined;
  lanes?: LaneTerm[] | undefined;
};

export const termNames = [
  "retry",
  "finish_within_sec",
  "labels",
  "keep_sec",
  "unique",
  "lanes",
] as const satisfies (keyof Terms)[];

const none: Terms = {};

/** Empty for a job that has none, and for a text that cannot be read: such a job is refused when it is claimed. */
export function termsOf({ terms }: Pick<JobRecord, "terms">): Terms {
  if (terms === null) return none;
  try {
    const read: unknown = JSON.parse(terms);
    return typeof read === "object" && read !== null ? read : none;
  } catch {
    // Somebody has edited the row; see above.
    return none;
  }
}
