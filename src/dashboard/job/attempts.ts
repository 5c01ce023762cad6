import type { EventView, JobView } from "../../contract/shapes/view-shapes.ts";
import { isEnded, type JobState } from "../../core/jobs/job.ts";

export type Attempt = {
  number: number;
  workerId: string;
  /** When it began to wait for this attempt. */
  waitedFrom: number;
  claimedAt: number;
  /** As the worker reported it, or else when it was claimed: the hub counts the run time from there too. */
  startedAt: number;
  /** Null while it runs. */
  endedAt: number | null;
  outcome: JobState;
  code: string | null;
};

/** The attempts of a job, from its events. */
export function attemptsOf(job: JobView, events: readonly EventView[]): Attempt[] {
  const attempts: Attempt[] = [];
  let waitedFrom = job.created_at;
  for (const { event, ts, details } of events) {
    const open = attempts.at(-1);
    if (event === "JOB_ASSIGNED") {
      attempts.push({
        number: Number(details["attempt"] ?? attempts.length + 1),
        workerId: String(details["worker_id"] ?? ""),
        waitedFrom,
        claimedAt: ts,
        startedAt: ts,
        endedAt: null,
        outcome: "running",
        code: null,
      });
    } else if (event === "JOB_STARTED" && open !== undefined && open.endedAt === null) {
      open.startedAt = ts;
    } else if (open !== undefined && open.endedAt === null && endings.has(event)) {
      const failure = job.fail_history.find(({ attempt }) => attempt === open.number);
      open.endedAt = ts;
      open.outcome =
        event === "JOB_COMPLETED" ? "completed" : event === "JOB_RELEASED" ? "pending" : "failed";
      open.code = failure === undefined ? null : (failure.detail ?? failure.code);
      waitedFrom = ts;
    }
  }
  const last = attempts.at(-1);
  if (last !== undefined && last.endedAt === null && isEnded(job.status)) last.endedAt = job.completed_at;
  return attempts;
}

const endings = new Set(["JOB_COMPLETED", "JOB_FAILED", "JOB_RETRYING", "JOB_RELEASED", "JOB_QUARANTINED"]);
