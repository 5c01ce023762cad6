import { countMove, submitEffects } from "../../../core/jobs/effects.ts";
import { isActive, newJobRecord } from "../../../core/jobs/job.ts";
import type { Context } from "../context.ts";
import { countJob } from "../counts/count-job.ts";
import { lastFrame } from "../frames/frame-rows.ts";
import type { WrittenChanges } from "../frames/group-frame.ts";
import type { JobEntry, RowValues } from "./job-entry.ts";
import { findEntry } from "./load-entry.ts";
import { newEntry } from "./new-entry.ts";
import { readEntry } from "./read-row.ts";

/** Makes up for what was committed after the rows were written, frame by frame. Why: ADR 0116. */
export function replayFrames(context: Context): void {
  const { sql, tallies, frame, jobs } = context;
  for (let number = tallies.get("flushed_frame") + 1; number < frame.number; number++) {
    const { state, text } = context.frames.entry(number, "changes", 0);
    // The transaction of the frame was committed with it, so a frame that cannot be read was edited since.
    if (state !== "kept") throw new Error(`frame ${number} is damaged: its changes are ${state}`);
    const { rows, turns, worked } = JSON.parse(text) as WrittenChanges;
    replayNewJobs(context, number, new Set(rows.map(([seq]) => seq)));
    for (const row of rows) replayEntry(context, readEntry(context, row as RowValues).entry);
    for (const [tenantId, turn] of turns) {
      context.book.served(context.book.tenant(tenantId), turn);
      tallies.add("turn", Math.max(0, turn - tallies.get("turn")));
    }
    for (const [workerId, completed, failed] of worked) context.workers.add(workerId, { completed, failed });
  }
  jobs.closeGroup();
  const last = lastFrame(sql)?.lastEvent ?? 0;
  tallies.add("event_seq", Math.max(0, last - tallies.get("event_seq")));
}

/** Of a job that was submitted and not yet changed, the line has everything. */
function replayNewJobs(context: Context, number: number, changed: Set<unknown>): void {
  const { frames, book } = context;
  for (let place = 0; place < frames.lines(number); place++) {
    // A newer line of a job whose row is among the changes.
    const { text, isReadable } = frames.plain(number, "documents", place);
    if (text === "" && isReadable) continue;
    const { state, line } = frames.line(number, place);
    if (state !== "kept" || line === null) throw new Error(`frame ${number} is damaged: a line is ${state}`);
    if (changed.has(line.seq)) continue;
    const documentSha256 = frames.hash(number, "documents", place);
    const job = { ...line, documentSha256, document: "", summary: null, isKeyChosen: false };
    const effects = submitEffects(newJobRecord(job, line.seq), null);
    const queue = book.byKey(line.queueKey);
    if (queue === undefined) throw new Error(`frame ${number} names a queue that is not there`);
    replayEntry(context, newEntry(context, effects, { queueId: queue.id, at: { frame: number, place } }));
  }
}

function replayEntry(context: Context, entry: JobEntry): void {
  const { seq } = entry.record;
  const before = findEntry(context, seq);
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
