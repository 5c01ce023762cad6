import type { Context } from "../context.ts";
import type { JobEntry } from "./job-entry.ts";

/**
 * The document of a job, and whether it is the one that was accepted, together with what decides who runs it. `unknown`: the head of
 * its frame is damaged, so it cannot be known which of its entries are right. `isJustRead`: the entry was made from its line a moment
 * ago, so a line that was right then need not be looked at again. Why: ADR 0116, ADR 0149.
 */
export function checkDocument(
  { frame, frames }: Pick<Context, "frames"> & Partial<Pick<Context, "frame">>,
  entry: JobEntry,
  { isJustRead = false } = {},
): { state: "genuine" | "forged" | "unknown"; document: string } {
  if (entry.document !== null) return { state: "genuine", document: entry.document };
  const { at, lineAt, record } = entry;
  // A line of the group that is being decided is in no frame yet; it was made from this record. A reader decides no group.
  const isNewLine = frame !== undefined && lineAt?.frame === frame.number;
  const isRightLine = isJustRead && entry.isGenuine;
  const line =
    isNewLine || isRightLine ? "kept" : frames.lineState((lineAt ?? at).frame, (lineAt ?? at).place);
  const { state, text } = frames.entry(at.frame, "documents", at.place);
  if (line === "unlisted" || state === "unlisted") return { state: "unknown", document: text };
  const isGenuine =
    entry.isGenuine &&
    state === "kept" &&
    frames.hash(at.frame, "documents", at.place) === record.documentSha256;
  return { state: isGenuine ? "genuine" : "forged", document: text };
}
