import { disconnect } from "./attempt-acts.ts";
import { isActive, type JobRecord } from "./job.ts";
import { abandon, attemptFailed, type ChangeRules, ended, type Outcome, refused } from "./outcome.ts";

/** What a worker is given to stop a tree that does not want to stop. */
const stopGraceMs = 5_000;

/** A job's next moment at which nothing having happened means something; null when there is none. */
export function dueAt(job: JobRecord, leaseMs: number): number | null {
  if (job.status === "pending") {
    return job.queueTtlSec === null ? null : job.createdAt + job.queueTtlSec * 1000;
  }
  if (!isActive(job.status)) return null;
  const cancelDue = job.cancelRequestedAt === null ? null : job.cancelRequestedAt + stopGraceMs + leaseMs;
  return Math.min(...[job.leaseExpiresAt, job.deadlineAt, cancelDue].filter((at) => at !== null));
}

/** The times of a held job after a restart, when nobody could renew: they last at least one more full lease. */
export function graced(
  job: JobRecord,
  { nowMs, leaseMs }: { nowMs: number; leaseMs: number },
): { leaseExpiresAt: number | null; deadlineAt: number | null; dueAt: number | null } {
  const later = (at: number | null): number | null => (at === null ? null : Math.max(at, nowMs + leaseMs));
  const times = { leaseExpiresAt: later(job.leaseExpiresAt), deadlineAt: later(job.deadlineAt) };
  return { ...times, dueAt: dueAt({ ...job, ...times }, leaseMs) };
}

/** What it means that the job's moment has come. */
export function decideDue(job: JobRecord, rules: ChangeRules): Outcome {
  const due = dueAt(job, rules.leaseMs);
  if (due === null || due > rules.nowMs) return refused("STATE_CONFLICT", "nothing is due for this job");
  if (job.status === "pending") {
    return ended(job, rules, { code: "EXPIRED", reason: "waited longer than queue_ttl_sec" });
  }
  if (job.cancelRequestedAt !== null) return abandon(job, rules);
  if (due === job.leaseExpiresAt) return disconnect(job, rules);
  return attemptFailed(job, rules, {
    code: "TIMEOUT",
    detail: null,
    reason: `ran longer than ${job.timeoutSec} s`,
    patch: {},
  });
}
