import type { Context } from "../context.ts";
import type { JobEntry } from "./job-entry.ts";

/**
 * The document of a job, and whether it is the one that was accepted, together with what decides who runs it. `unknown`: the head of
 * its frame is damaged, so nobody can say which of its entries are right.
 */
export function checkDocument(
  { frames }: Pick<Context, "frames">,
  entry: JobEntry,
): { state: "genuine" | "forged" | "unknown"; document: string } {
  if (entry.document !== null) return { state: "genuine", document: entry.document };
  const { at, lineAt, record } = entry;
  const line = frames.line((lineAt ?? at).frame, (lineAt ?? at).place);
  const { state, text } = frames.entry(at.frame, "documents", at.place);
  if (line.state === "unlisted" || state === "unlisted") return { state: "unknown", document: text };
  const isGenuine =
    entry.isGenuine &&
    state === "kept" &&
    frames.hash(at.frame, "documents", at.place) === record.documentSha256;
  return { state: isGenuine ? "genuine" : "forged", document: text };
}
