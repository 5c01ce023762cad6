import type { NewEvent } from "../../../core/events.ts";
import type { Context } from "../context.ts";
import { unindexFrame } from "../frames/event-index.ts";
import { foldFrames } from "../frames/fold-frames.ts";
import { frameOfEvent, removePayload } from "../frames/frame-rows.ts";
import { removeEntries } from "../frames/remove-entries.ts";
import { findById } from "../jobs/load-entry.ts";
import { appendEvent } from "./append-event.ts";
import { addEventFrame } from "./event-frames.ts";

/** Events from outside a change. An event of a known job takes that job's next number. */
export function recordEvents(context: Context, input: { events: NewEvent[] }): void {
  for (const event of input.events)
    appendEvent(context, {
      ...event,
      jobSeq: event.jobId === null ? null : nextJobSeq(context, event.jobId),
    });
}

function nextJobSeq(context: Context, jobId: string): number | null {
  const entry = findById(context, jobId);
  if (entry === null) return null;
  const eventCount = entry.record.eventCount + 1;
  const eventFrames = addEventFrame(context, entry, context.frame.number);
  context.jobs.put({ ...entry, record: { ...entry.record, eventCount }, eventFrames });
  return eventCount;
}

export function eventRange({ sql, tallies }: Context): { first: number; last: number } {
  const kept = tallies.get("pruned_event") + 1;
  const number = frameOfEvent(sql, kept);
  if (number === null) return { first: 0, last: 0 };
  const { first } = sql.first<{ first: number }>(
    "SELECT first_event AS first FROM frames WHERE number = ?",
    number,
  )!;
  return { first: Math.max(first, kept), last: tallies.get("event_seq") };
}

/** Removes the oldest events up to a given one; their hashes stay in the heads of their frames. */
export function pruneEvents(
  context: Context,
  { throughSeq, limit }: { throughSeq: number; limit: number },
): { removed: number } {
  const { sql, tallies } = context;
  const { first, last } = eventRange(context);
  const through = Math.min(throughSeq, last, first + limit - 1);
  if (first === 0 || through < first) return { removed: 0 };
  const frames = sql.all<{ number: number; first: number; last: number }>(
    `SELECT number, first_event AS first, last_event AS last FROM frames
      WHERE number BETWEEN ? AND ? AND last_event >= first_event ORDER BY number`,
    frameOfEvent(sql, first),
    frameOfEvent(sql, through),
  );
  let removed = 0;
  for (const frame of frames) {
    if (frame.first > through) break;
    const end = Math.min(through, frame.last);
    removed += end - Math.max(first, frame.first) + 1;
    if (end === frame.last) {
      unindexFrame(sql, frame.number);
      removePayload(sql, frame.number, "events");
      context.frames.forget(frame.number);
    } else {
      const places = Array.from({ length: end - frame.first + 1 }, (_, place) => place);
      removeEntries(
        context,
        places.map((place) => ({ frame: frame.number, payload: "events" as const, place })),
      );
    }
  }
  tallies.add("pruned_event", through - tallies.get("pruned_event"));
  foldFrames(
    context,
    frames.map(({ number }) => number),
  );
  sql.run("DELETE FROM timelines WHERE last_frame < ?", frames.at(-1)!.number);
  context.mustFlush = true;
  context.removal = "some";
  return { removed };
}

type Skip = { throughSeq: number; hash: string };

/** Leaves out numbers of the log that were given before, by a database that is lost. Why: ADR 0030. */
export function skipEvents(context: Context, skip: Skip): void {
  context.skip = skip;
  context.mustFlush = true;
}

/** After the events of the group, because those of one frame follow each other without a gap. */
export function leaveOutNumbers(context: Context): void {
  const { skip } = context;
  context.skip = null;
  if (skip === null) return;
  const missing = skip.throughSeq - context.tallies.get("event_seq");
  if (missing <= 0) return;
  context.tallies.add("event_seq", missing);
  context.sql.run("INSERT INTO skipped_events VALUES (?, ?)", skip.throughSeq, skip.hash);
  context.chainEnd = skip.hash;
}

/** Every event is sealed by the frame that has it, so there is never anything left to seal. */
export function sealEvents(context: Context): {
  sealed: number;
  head: { seq: number; hash: string } | null;
  more: boolean;
} {
  const seq = context.tallies.get("event_seq");
  return { sealed: 0, head: seq === 0 ? null : { seq, hash: context.chainEnd }, more: false };
}
