import { deadlineMs, disconnect } from "./attempt-acts.ts";
import { isActive, type JobRecord } from "./job.ts";
import { abandon, attemptFailed, type ChangeRules, ended, type Outcome, refused } from "./outcome.ts";

/** How long a worker has to stop a process tree that does not stop by itself. */
const stopGraceMs = 5_000;

/** The next moment at which the hub must act on a job if nothing happens before; null when there is none. */
export function dueAt(job: JobRecord, leaseMs: number): number | null {
  if (job.status === "pending") {
    return job.queueTtlSec === null ? null : job.createdAt + job.queueTtlSec * 1000;
  }
  if (!isActive(job.status)) return null;
  const cancelDue = job.cancelRequestedAt === null ? null : job.cancelRequestedAt + stopGraceMs + leaseMs;
  return Math.min(...[job.leaseExpiresAt, job.deadlineAt, cancelDue].filter((at) => at !== null));
}

type GracedTimes = Pick<JobRecord, "leaseExpiresAt" | "deadlineAt" | "cancelRequestedAt"> & {
  dueAt: number | null;
};

/**
 * The times of a leased job after a restart of the hub. No worker could renew meanwhile, so they are at least one lease
 * away. Nor can they be further away than they were when they were set: the clock may have been set back while no hub
 * was running.
 */
export function graced(job: JobRecord, { nowMs, leaseMs }: { nowMs: number; leaseMs: number }): GracedTimes {
  const earliest = nowMs + leaseMs;
  const within = (at: number | null, lengthMs: number): number | null =>
    at === null ? null : Math.max(earliest, Math.min(at, nowMs + lengthMs));
  const renewedAt = job.heartbeatAt ?? job.claimedAt;
  const ownLeaseMs = renewedAt === null ? leaseMs : (job.leaseExpiresAt ?? 0) - renewedAt;
  const times = {
    leaseExpiresAt: within(job.leaseExpiresAt, ownLeaseMs),
    deadlineAt: within(job.deadlineAt, deadlineMs(job)),
    cancelRequestedAt: job.cancelRequestedAt === null ? null : Math.min(job.cancelRequestedAt, nowMs),
  };
  return { ...times, dueAt: dueAt({ ...job, ...times }, leaseMs) };
}

/** What happens to a job whose time has come. */
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
