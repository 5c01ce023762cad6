import type { DamagedPart } from "../../jobs/find-damage.ts";
import { compareTimeline } from "../../jobs/timeline-end.ts";
import type { Context } from "../context.ts";
import type { JobEntry } from "../jobs/job-entry.ts";
import { findTimelineEnd } from "../log/timeline-end.ts";

type Sources = Pick<Context, "frames" | "tallies"> & Partial<Pick<Context, "frame">>;

/** What of a job contradicts its frames, beside its line and its document. Why: ADR 0134. */
export function compareEntry(
  sources: Sources,
  entry: JobEntry,
): { damaged: DamagedPart[]; isReceiptRefused: boolean } {
  const { frame, frames } = sources;
  const { record, receiptAt } = entry;
  const end = findTimelineEnd(sources, entry);
  const damaged: DamagedPart[] = end.state === "read" ? compareTimeline(record, end) : ["state"];
  // A receipt of the group that is being decided is in no frame yet.
  const isWritten = receiptAt !== null && receiptAt.frame !== frame?.number;
  if (isWritten && frames.receipt(receiptAt.frame, receiptAt.place).state !== "kept") damaged.push("receipt");
  return { damaged, isReceiptRefused: end.state === "read" && end.isReceiptRefused };
}
