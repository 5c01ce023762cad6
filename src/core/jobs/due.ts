import { deadlineMs, disconnect } from "./attempt-acts.ts";
import { finishByOf, overdueReason } from "./finish-by.ts";
import { isActive, type JobRecord } from "./job.ts";
import { abandon, attemptFailed, type ChangeRules, ended, moved, type Outcome, refused } from "./outcome.ts";

/** How long a worker has to stop a process tree that does not stop by itself. */
const stopGraceMs = 5_000;

/** The next moment at which the hub must act on a job if nothing happens before; null when there is none. */
export function dueAt(job: JobRecord, leaseMs: number): number | null {
  if (job.status === "pending") {
    return earliest([expiresAt(job), finishByOf(job)]);
  }
  if (!isActive(job.status)) return null;
  const cancelDue = job.cancelRequestedAt === null ? null : job.cancelRequestedAt + stopGraceMs + leaseMs;
  const finishBy = job.cancelRequestedAt === null ? finishByOf(job) : null;
  return earliest([job.leaseExpiresAt, job.deadlineAt, cancelDue, finishBy]);
}

/** A job that is to run later, or that somebody holds, does not wait for a worker until then. */
function expiresAt({ queueTtlSec, createdAt, runAt, heldAt }: JobRecord): number | null {
  return queueTtlSec === null || heldAt !== null ? null : Math.max(createdAt, runAt) + queueTtlSec * 1000;
}

function earliest(times: (number | null)[]): number | null {
  const known = times.filter((at) => at !== null);
  return known.length === 0 ? null : Math.min(...known);
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
  const isOverdue = due === finishByOf(job);
  if (job.status === "pending") {
    const reason = isOverdue ? overdueReason : "waited longer than queue_ttl_sec";
    return ended(job, rules, { code: "EXPIRED", reason });
  }
  if (job.cancelRequestedAt !== null) return abandon(job, rules);
  if (isOverdue) return expireHeld(job, rules);
  if (due === job.leaseExpiresAt) return disconnect(job, rules);
  return attemptFailed(job, rules, {
    code: "TIMEOUT",
    detail: null,
    reason: `ran longer than ${job.timeoutSec} s`,
    patch: {},
  });
}

/** Its worker is told to stop it; the job ends when that is confirmed, or a while later without. */
function expireHeld(job: JobRecord, rules: ChangeRules): Outcome {
  return moved({ status: job.status, cancelRequestedAt: rules.nowMs }, [
    { event: "JOB_CANCEL_REQUESTED", details: { by: "hub", reason: overdueReason } },
  ]);
}
