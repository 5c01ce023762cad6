import type { Context } from "../context.ts";
import type { JobEntry } from "../jobs/job-entry.ts";
import { findTimelineEnd } from "../log/timeline-end.ts";

/**
 * Whether the log agrees with a row that a job is pending, and that its fence has not gone back. The last event of the job that shows a
 * state decides: a finished job that somebody has set back to pending in its row is noticed by it. Events that retention has taken
 * tell nothing. `unknown`: the head of a frame with its events is damaged. Why: ADR 0116.
 */
export function checkState(
  sources: Pick<Context, "frames" | "tallies">,
  entry: JobEntry,
): "genuine" | "forged" | "unknown" {
  const end = findTimelineEnd(sources, entry);
  if (end.state !== "read") return end.state;
  if (end.shown === null) return "genuine";
  const { status, attempt, held_at } = end.shown;
  const isFenced = typeof attempt === "number" && entry.record.attempt >= attempt;
  const isRight = status === "pending" && isFenced && (held_at ?? null) === entry.record.heldAt;
  return isRight ? "genuine" : "forged";
}
