import { session } from "../hub/session.ts";
import type { JobFilter } from "./job-filter.ts";
import { JobList } from "./job-list.ts";

/** The list that was shown last, with all rows that were read, so that going back shows the same position. */
let kept: { key: string; list: JobList } | null = null;
session.subscribe(() => {
  if (session.get().state !== "in") kept = null;
});

/** The list that was shown last if it has this filter, or a new one. */
export function keptList(key: string, filter: JobFilter): JobList {
  if (kept?.key !== key) kept = { key, list: new JobList(filter) };
  return kept.list;
}
