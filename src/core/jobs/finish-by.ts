import type { JobRecord } from "./job.ts";
import { termsOf } from "./terms.ts";

type Timed = Pick<JobRecord, "terms" | "createdAt" | "cancelRequestedAt">;

export const overdueReason = "did not finish within finish_within_sec";

/** When a job ends as EXPIRED, however many attempts it has left; null if it may take for ever. */
export function finishByOf(job: Pick<Timed, "terms" | "createdAt">): number | null {
  const { finish_within_sec: seconds } = termsOf(job);
  return Number.isSafeInteger(seconds) ? job.createdAt + seconds! * 1000 : null;
}

/** Whether the attempt was told to stop because the time of the job was over, and not because somebody wanted it to. */
export function isStoppedOverdue(job: Timed): boolean {
  const finishBy = finishByOf(job);
  return finishBy !== null && job.cancelRequestedAt !== null && job.cancelRequestedAt >= finishBy;
}
