import type { EventView, JobView } from "../../contract/shapes/view-shapes.ts";

/** Finds who cancelled a job, if an event tells, and when; null if it was not cancelled since it was last queued. */
export function cancelledBy(
  job: JobView,
  events: readonly EventView[],
): { who: string | null; at: number } | null {
  // The hub itself stops a job whose time is over, and that is no cancel.
  const isToldToStop = job.cancel_requested_at !== null && job.fail_code !== "EXPIRED";
  const isCancelled = job.fail_code === "CANCELLED" || isToldToStop;
  if (!isCancelled) return null;
  const cancelEvent = events.findLast(
    ({ event, details }) =>
      event === "JOB_CANCEL_REQUESTED" ||
      (event === "JOB_FAILED" && details["fail_code"] === "CANCELLED" && job.cancel_requested_at === null),
  );
  const at = cancelEvent?.ts ?? job.cancel_requested_at ?? job.completed_at;
  return at === null ? null : { who: cancelEvent?.user_id ?? null, at };
}
