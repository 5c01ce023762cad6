import type { JobSummary } from "../../contract/view-shapes.ts";
import { isEnded } from "../../core/job.ts";
import type { FeedEvent } from "../hub/event-stream.ts";

/** What an event tells of a row, until the row is read again. */
export function patchRow(
  row: JobSummary,
  { status, worker_id, attempt, ts, progress, detail, fail_code }: FeedEvent,
): JobSummary {
  const isNewAttempt = attempt !== row.attempt;
  // Of several events only the last one is seen: a job that runs has also been claimed.
  const isClaimed = status === "assigned" || (status === "running" && isNewAttempt);
  return {
    ...row,
    status,
    attempt,
    attempts: isNewAttempt ? row.attempts + 1 : row.attempts,
    worker_id: worker_id ?? (status === "pending" ? null : row.worker_id),
    progress: progress ?? (isNewAttempt ? null : row.progress),
    progress_detail: detail ?? (isNewAttempt ? null : row.progress_detail),
    claimed_at: isClaimed ? ts : row.claimed_at,
    started_at: status === "running" && (isNewAttempt || row.started_at === null) ? ts : row.started_at,
    completed_at: isEnded(status) ? ts : null,
    fail_code: (fail_code as JobSummary["fail_code"]) ?? row.fail_code,
  };
}
