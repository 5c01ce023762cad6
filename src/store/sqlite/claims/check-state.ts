import { isProven } from "../../frames/records.ts";
import type { Context } from "../context.ts";
import type { JobEntry } from "../jobs/job-entry.ts";

type Shown = { status?: unknown; attempt?: unknown };

/**
 * Whether the log agrees with a row that a job is pending, and that its fence has not gone back. The last event of the job that shows a
 * state decides: a finished job that somebody has set back to pending in its row is noticed by it. Events that retention has taken
 * tell nothing. `unknown`: the head of a frame with its events is damaged. Why: ADR 0116.
 */
export function checkState(
  { frames, tallies }: Pick<Context, "frames" | "tallies">,
  { record, at, eventFrames }: JobEntry,
): "genuine" | "forged" | "unknown" {
  // The log of a copied database is written before its jobs, and may have lost the events of some of them before.
  const isCopied = at.frame <= tallies.get("copied_frame");
  if (isCopied && eventFrames === "") return "genuine";
  const firstFrame = isCopied ? 1 : at.frame;
  let expected: number | null = record.eventCount;
  for (const number of eventFrames.split(",").map(Number).toReversed()) {
    if (number < firstFrame) return "forged";
    if (frames.isPruned(number, tallies.get("pruned_event"))) return "genuine";
    if (!frames.isGenuine(number)) return "unknown";
    const events = frames.recordsOfJob(number, record.id);
    // Each event of a job has a number within it, and the row has that of the last one.
    if (events.length === 0 || events.some((event) => !isProven(event))) return "forged";
    const stored = events.map(({ event }) => event!.stored);
    if (expected !== null && stored.at(-1)!.jobSeq !== expected) return "forged";
    expected = null;
    for (const { details } of stored.toReversed()) {
      const { status, attempt } = JSON.parse(details) as Shown;
      if (status === undefined) continue;
      const isRight = status === "pending" && typeof attempt === "number" && record.attempt >= attempt;
      return isRight ? "genuine" : "forged";
    }
  }
  return "genuine";
}
