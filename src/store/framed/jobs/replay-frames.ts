import { countMove } from "../../../core/jobs/effects.ts";
import { isActive } from "../../../core/jobs/job.ts";
import { countJob } from "../../sqlite/jobs/apply-effects.ts";
import type { Context } from "../context.ts";
import type { Changes } from "../frames/group-frame.ts";
import type { JobEntry, RowValues } from "./job-entry.ts";
import { findEntry } from "./load-entry.ts";
import { readEntry } from "./read-row.ts";

/** Makes up for what was committed after the rows were written, frame by frame. Why: ADR 0116. */
export function replayFrames(context: Context): void {
  const { sql, tallies, frame, jobs } = context;
  for (let number = tallies.get("flushed_frame") + 1; number < frame.number; number++) {
    const { state, text } = context.frames.entry(number, "changes", 0);
    // The transaction of the frame was committed with it, so a frame that cannot be read was edited since.
    if (state !== "kept") throw new Error(`frame ${number} is damaged: its changes are ${state}`);
    const { rows, turns, worked } = JSON.parse(text) as Changes;
    for (const row of rows) replayRow(context, row as RowValues);
    for (const [tenantId, turn] of turns) {
      context.book.served(context.book.tenant(tenantId), turn);
      tallies.add("turn", Math.max(0, turn - tallies.get("turn")));
    }
    for (const [workerId, completed, failed] of worked) context.workers.add(workerId, { completed, failed });
  }
  jobs.takeTouched();
  const last = sql.first<{ seq: number | null }>("SELECT max(last_event) AS seq FROM frames")!.seq ?? 0;
  tallies.add("event_seq", Math.max(0, last - tallies.get("event_seq")));
}

function replayRow(context: Context, row: RowValues): void {
  const seq = row[0] as number;
  const before = findEntry(context, seq);
  const { entry } = readEntry(context, row);
  const after: JobEntry = { ...entry, isStored: before?.isStored ?? false };
  context.jobs.put(after);
  const { tallies, book, workers } = context;
  tallies.add("job_seq", Math.max(0, seq - tallies.get("job_seq")));
  const [from, to] = [before?.record.status ?? null, after.record.status];
  const queue = book.byId(after.queueId);
  if (from !== to) {
    if (from !== null) countJob(context, after.record, from, -1);
    countJob(context, after.record, to, 1);
    if (queue !== undefined) book.adjust(queue, countMove(from, to));
  }
  // Its row may have said that it is empty.
  if (queue !== undefined) book.setFront(queue, undefined);
  const held = (entry: JobEntry | undefined): string | null =>
    entry !== undefined && isActive(entry.record.status) ? entry.record.workerId : null;
  if (held(before ?? undefined) === held(after)) return;
  if (held(before ?? undefined) !== null) workers.add(held(before!)!, { active: -1 });
  if (held(after) !== null) workers.add(held(after)!, { active: 1 });
}
