import type { LoggedEvent } from "../../../core/events.ts";
import type { EventFilter } from "../../event-store.ts";
import type { FrameRecord } from "../../frames/records.ts";
import { readEvent, type StoredEvent } from "../../log/stored-event.ts";
import type { Connection } from "../database/connection.ts";
import { type EventTraits, nextWithTrait, wantedTraits } from "../frames/event-index.ts";
import { frameOfEvent } from "../frames/frame-rows.ts";
import { idBytes } from "../jobs/job-entry.ts";
import type { ReadContext } from "./read-context.ts";

/** In order of seq. Without a job, frame by frame from the first that may have such events; of a job, only its frames. Why: ADR 0116. */
export function readEvents(context: ReadContext, filter: EventFilter): LoggedEvent[] {
  const through = filter.throughSeq ?? Number.MAX_SAFE_INTEGER;
  const numbers =
    filter.jobId === undefined
      ? framesAfter(context, filter.afterSeq, through, filter)
      : framesOf(context, filter.jobId);
  const found: LoggedEvent[] = [];
  for (const number of numbers) {
    for (const { seq, event } of recordsIn(context, number)) {
      if (event === null || seq <= filter.afterSeq || seq > through || !fits(event.stored, filter)) continue;
      found.push(readEvent(event.stored));
      if (found.length === filter.limit) return found;
    }
  }
  return found;
}

function fits(event: StoredEvent, { tenantId, ownerId, jobId, kinds }: EventFilter): boolean {
  return (
    (tenantId === undefined || event.tenantId === tenantId) &&
    (ownerId === undefined || event.ownerId === ownerId) &&
    (jobId === undefined || event.jobId === jobId) &&
    (kinds === undefined || kinds.includes(event.event))
  );
}

/**
 * A frame at a time, because a reader of the log rarely wants more than the newest. With traits, only frames that may have such an
 * event: those up to the last whose rows are written are told by an index, and the few after it are all looked at.
 */
export function* framesAfter(
  context: ReadContext,
  afterSeq: number,
  through: number,
  traits: EventTraits = {},
): Generator<number> {
  const { sql, tallies } = context;
  let from = frameOfEvent(sql, afterSeq + 1);
  if (from === null) return;
  const wanted = wantedTraits(sql, traits);
  if (wanted !== null) {
    const indexed = tallies.get("flushed_frame");
    for (let next = from; next <= indexed; next++) {
      const found = nextWithTrait(sql, wanted, next);
      if (found === null) break;
      if (firstEventOf(sql, found) > through) return;
      yield found;
      next = found;
    }
    from = Math.max(from, indexed + 1);
  }
  yield* framesFrom(sql, from, through);
}

function* framesFrom(sql: Connection, from: number, through: number): Generator<number> {
  const text = `SELECT number, first_event AS first, last_event AS last FROM frames WHERE number >= ? ORDER BY number LIMIT 32`;
  for (let next = from; ; ) {
    const page = sql.all<{ number: number; first: number; last: number }>(text, next);
    for (const { number, first, last } of page) {
      if (first > through) return;
      if (last >= first) yield number;
    }
    if (page.length < 32) return;
    next = page.at(-1)!.number + 1;
  }
}

function firstEventOf(sql: Connection, number: number): number {
  const row = sql.first<{ first: number }>(
    "SELECT first_event AS first FROM frames WHERE number = ?",
    number,
  );
  return row?.first ?? 0;
}

/** The frames with events of a job, also of one that is gone, or of several that had the same id. */
function framesOf({ sql }: ReadContext, jobId: string): number[] {
  const id = idBytes(jobId);
  if (id === null) return [];
  const lists = sql.all<{ frames: string }>(
    "SELECT event_frames AS frames FROM jobs WHERE id = ?1 UNION ALL SELECT frames FROM timelines WHERE id = ?1",
    id,
  );
  const numbers = lists.flatMap(({ frames }) => frames.split(",").map(Number));
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** The records of a frame, as they follow from it without any proof. */
export function recordsIn({ sql, frames }: ReadContext, number: number): Generator<FrameRecord> {
  return frames.records(number, firstEventOf(sql, number));
}
