import type { Context } from "../context.ts";
import { idBytes, type JobEntry } from "../jobs/job-entry.ts";

/** A job with very many events keeps older ones in `timelines`, so that its row stays small. */
const listCharsMax = 400;

/** The frames with events of a job, with this one at the end. Why: ADR 0116. */
export function addEventFrame(
  { sql }: Pick<Context, "sql">,
  { eventFrames, record }: JobEntry,
  number: number,
): string {
  const own = String(number);
  if (eventFrames === own || eventFrames.endsWith(`,${own}`)) return eventFrames;
  if (eventFrames.length < listCharsMax) return eventFrames === "" ? own : `${eventFrames},${own}`;
  keepTimeline({ sql }, record.id, eventFrames);
  return own;
}

/** The numbers of frames stay when the row that had them is gone, or has no room for them. */
export function keepTimeline({ sql }: Pick<Context, "sql">, id: string, frames: string): void {
  const last = Number(frames.slice(frames.lastIndexOf(",") + 1));
  sql.run("INSERT OR REPLACE INTO timelines VALUES (?, ?, ?)", idBytes(id), last, frames);
}
