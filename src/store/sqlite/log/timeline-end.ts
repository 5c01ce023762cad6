import { isProven } from "../../frames/records.ts";
import { endOfTimeline, type TimelineEnd } from "../../jobs/timeline-end.ts";
import type { Context } from "../context.ts";
import type { JobEntry } from "../jobs/job-entry.ts";

type Sources = Pick<Context, "frames" | "tallies"> & Partial<Pick<Context, "frame">>;
type Found = { state: "forged" | "unknown" } | ({ state: "read" } & TimelineEnd);

/**
 * The end of the timeline of a job, in the frames that its row names. `forged`: the row names frames or a number of events that
 * cannot be right. `unknown`: the head of a frame with its events is damaged. Events that retention has taken tell nothing.
 * Why: ADR 0116, ADR 0134.
 */
export function findTimelineEnd(
  { frame, frames, tallies }: Sources,
  { record, at, eventFrames }: JobEntry,
): Found {
  let isReceiptRefused = false;
  const untold = (): Found => ({ state: "read", shown: null, isReceiptRefused });
  // The log of a copied database is written before its jobs, and may have lost the events of some of them before.
  const isCopied = at.frame <= tallies.get("copied_frame");
  if (isCopied && eventFrames === "") return untold();
  const firstFrame = isCopied ? 1 : at.frame;
  const prunedEvent = tallies.get("pruned_event");
  let expected: number | null = record.eventCount;
  for (const number of eventFrames.split(",").map(Number).toReversed()) {
    // The frame of the group that is being decided is not there yet, and memory has what its events say.
    if (number === frame?.number) return untold();
    if (number < firstFrame) return { state: "forged" };
    if (frames.isPruned(number, prunedEvent)) return untold();
    if (!frames.isGenuine(number)) return { state: "unknown" };
    const events = frames.recordsOfJob(number, record.id);
    // Retention may have come as far as into this frame.
    if (events.length === 0 && frames.firstEvent(number) <= prunedEvent) return untold();
    // Each event of a job has a number within it, and the row has that of the last one.
    if (events.length === 0 || events.some((event) => !isProven(event))) return { state: "forged" };
    const stored = events.map(({ event }) => event!.stored);
    if (expected !== null && stored.at(-1)!.jobSeq !== expected) return { state: "forged" };
    expected = null;
    const end = endOfTimeline(stored.map(({ details }) => details).toReversed());
    isReceiptRefused ||= end.isReceiptRefused;
    if (end.shown !== null) return { state: "read", shown: end.shown, isReceiptRefused };
  }
  return untold();
}
