import type { JobView } from "../contract/shapes/view-shapes.ts";
import type { WhyView } from "../contract/why-view.ts";
import { isEnded } from "../core/jobs/job.ts";
import { timeText } from "./text/describe-job.ts";

/** The name of the tasks extension. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

/** How often a client should ask. */
const pollIntervalMs = 2_000;

/**
 * A job as a task of the protocol: the same id, and why it is in its state as the message. `completed` means that there is
 * a result, also that of a job that failed; `failed` is for errors of the protocol, which no job is. Why: ADR 0119.
 */
export function taskOf(job: JobView, why: WhyView) {
  const { created_at: createdAt, claimed_at: claimedAt, started_at: startedAt, completed_at: endedAt } = job;
  return {
    taskId: job.id,
    status: statusOf(job),
    statusMessage: why.summary,
    createdAt: timeText(createdAt)!,
    lastUpdatedAt: timeText(endedAt ?? startedAt ?? claimedAt ?? createdAt)!,
    // Jobs are kept for days after they have ended, whenever that is.
    ttlMs: null,
    pollIntervalMs,
  };
}

function statusOf({ status, fail_code: code }: JobView): "working" | "completed" | "cancelled" {
  if (!isEnded(status)) return "working";
  return code === "CANCELLED" ? "cancelled" : "completed";
}
