import { carriedUsage } from "../agents/agent-budget.ts";
import { finishByOf } from "./finish-by.ts";
import { isEnded, type JobRecord } from "./job.ts";
import { type ChangeRules, conflict, ended, moved, type Outcome, refused, unleased } from "./outcome.ts";

/** A document that does not match its seal is never dispatched. */
export function refuse(job: JobRecord, rules: ChangeRules): Outcome {
  return ended(job, rules, {
    code: "SECURITY_VIOLATION",
    detail: "INVALID_SIGNATURE",
    reason: "the stored document does not match its seal",
  });
}

/** Only a job that no worker has can be held. What may be waited for counts anew once somebody resumes it. */
export function hold(job: JobRecord, rules: ChangeRules): Outcome {
  if (job.status !== "pending") return conflict(job, "hold");
  if (job.heldAt !== null) return { kind: "duplicate" };
  return moved({ status: job.status, heldAt: rules.nowMs }, [{ event: "JOB_HELD", details: {} }]);
}

export function resume(job: JobRecord, rules: ChangeRules): Outcome {
  if (job.status !== "pending") return conflict(job, "resume");
  if (job.heldAt === null) return { kind: "duplicate" };
  const runAt = Math.max(job.runAt, rules.nowMs);
  return moved({ status: job.status, heldAt: null, runAt }, [
    { event: "JOB_RESUMED", details: { run_at: runAt } },
  ]);
}

export function cancel(job: JobRecord, rules: ChangeRules): Outcome {
  if (isEnded(job.status)) return conflict(job, "cancel");
  if (job.status === "pending") {
    return ended(job, rules, { code: "CANCELLED", reason: "cancelled", failReason: "cancelled" });
  }
  if (job.cancelRequestedAt !== null) return { kind: "duplicate" };
  return moved({ status: job.status, cancelRequestedAt: rules.nowMs }, [
    { event: "JOB_CANCEL_REQUESTED", details: {} },
  ]);
}

/** Only a job that no worker has had is superseded. */
export function supersede(job: JobRecord, { by }: { by: string }, rules: ChangeRules): Outcome {
  if (job.status !== "pending" || job.attempt > 0) return conflict(job, "supersede");
  const reason = `superseded by job ${by}, which has the same unique key`;
  return ended(job, rules, { code: "CANCELLED", detail: "SUPERSEDED", reason, failReason: "superseded" });
}

export function postpone(job: JobRecord, { runAt }: { runAt: number }): Outcome {
  if (job.status !== "pending" || job.attempt > 0) return conflict(job, "postpone");
  return moved({ status: job.status, runAt }, [{ event: "JOB_DEDUPLICATED", details: { run_at: runAt } }]);
}

export function retry(
  job: JobRecord,
  { isKeyTaken = false }: { isKeyTaken?: boolean },
  rules: ChangeRules,
): Outcome {
  if (job.status !== "failed" && job.status !== "quarantined") return conflict(job, "retry");
  if (job.failCode === "SECURITY_VIOLATION") {
    return refused("STATE_CONFLICT", "a job that ended as SECURITY_VIOLATION cannot be retried");
  }
  if (isKeyTaken)
    return refused("UNIQUE_HELD", "another job has its unique key now; wait until that one gives it back");
  const finishBy = finishByOf(job);
  if (finishBy !== null && finishBy <= rules.nowMs) {
    return refused("STATE_CONFLICT", "its finish_within_sec is over; submit the job again instead");
  }
  return moved(
    {
      ...unleased,
      status: "pending",
      attempts: 0,
      releases: 0,
      retryCounts: {},
      timeoutSec: job.documentTimeoutSec,
      runAt: rules.nowMs,
      // A person who retries a job wants it to run, however long it has already waited.
      queueTtlSec: null,
      completedAt: null,
      cancelRequestedAt: null,
      exitCode: null,
      partialResult: null,
      // A person who retries it allows what its budget says once more.
      ...(carriedUsage(job) === null ? {} : { usage: null }),
      outputFiles: null,
      receipt: null,
      failReason: null,
      failCode: null,
      failDetail: null,
    },
    [{ event: "JOB_RETRYING", details: { by: "person", run_at: rules.nowMs } }],
  );
}
