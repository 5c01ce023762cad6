import { isEnded, type JobRecord } from "./jobs/job.ts";
import { termsOf } from "./jobs/terms.ts";

/** When an ended job is deleted because it says so; null if it has not ended, or leaves that to the hub. Why: ADR 0139. */
export function keptUntil(job: Pick<JobRecord, "status" | "completedAt" | "terms">): number | null {
  if (job.terms === null || !isEnded(job.status) || job.completedAt === null) return null;
  const { keep_sec } = termsOf(job);
  return keep_sec === undefined ? null : job.completedAt + keep_sec * 1000;
}
