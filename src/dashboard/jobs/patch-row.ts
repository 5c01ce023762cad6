import type { JobSummary } from "../../contract/shapes/view-shapes.ts";
import { isEnded } from "../../core/jobs/job.ts";
import type { FeedEvent } from "../hub/event-stream.ts";

/** Applies an event to a row, until the row is read again. */
export function patchRow(
  row: JobSummary,
  { status, worker_id, attempt, ts, progress, detail, fail_code }: FeedEvent,
): JobSummary {
  const isNewAttempt = attempt !== row.attempt;
  // A person has retried it: its attempts are counted from zero, and it waits from now on.
  const isRetried = isEnded(row.status) && !isEnded(status);
  // Of several events only the last one is seen: a job that runs has also been claimed.
  const isClaimed = status === "assigned" || (status === "running" && isNewAttempt);
  return {
    ...row,
    status,
    attempt,
    attempts: attemptsAfter(row, { attempt, isRetried }),
    run_at: isRetried ? ts : row.run_at,
    worker_id: worker_id ?? (status === "pending" ? null : row.worker_id),
    progress: progress ?? (isNewAttempt ? null : row.progress),
    progress_detail: detail ?? (isNewAttempt ? null : row.progress_detail),
    claimed_at: isClaimed ? ts : isRetried ? null : row.claimed_at,
    started_at: status === "running" && (isNewAttempt || row.started_at === null) ? ts : row.started_at,
    completed_at: isEnded(status) ? ts : null,
    fail_code: (fail_code as JobSummary["fail_code"]) ?? row.fail_code,
  };
}

/**
 * An event has the attempt's number, which is never reset; a row shows how many of the allowed attempts were charged.
 */
function attemptsAfter(
  row: JobSummary,
  { attempt, isRetried }: { attempt: number; isRetried: boolean },
): number {
  const used = (isRetried ? 0 : row.attempts) + (attempt - row.attempt);
  return Math.min(used, Math.max(row.max_attempts, row.attempts));
}
