import type { JobRecord } from "../jobs/job.ts";

/**
 * Whether a job can be claimed: `now`; `later`, once its runAt has passed; `held`, because a person holds it; `never`, because it is
 * not pending.
 */
export type Readiness = "now" | "later" | "held" | "never";

/** What can make a pending job wait that is stored with it. */
type Waiting = Pick<JobRecord, "status" | "heldAt" | "runAt">;

/**
 * The one rule for whether a job can be claimed. Whatever makes a job claimable asks it: its submission, every change, the scheduler
 * and the claim itself. Why: ADR 0136.
 */
export function readinessOf(job: Waiting, nowMs: number): Readiness {
  if (job.status !== "pending") return "never";
  if (job.heldAt !== null) return "held";
  return job.runAt <= nowMs ? "now" : "later";
}
