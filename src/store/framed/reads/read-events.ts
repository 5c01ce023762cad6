import type { LoggedEvent } from "../../../core/events.ts";
import type { AuditRecord } from "../../log/audit-record.ts";
import type { EventFilter } from "../../store.ts";
import { idBytes } from "../jobs/job-entry.ts";
import type { ReadContext } from "./read-context.ts";

/** In order of seq. Without a job, frame by frame from the first that may have such events; of a job, only its frames. */
export function readEvents(context: ReadContext, filter: EventFilter): LoggedEvent[] {
  const through = filter.throughSeq ?? Number.MAX_SAFE_INTEGER;
  const numbers =
    filter.jobId === undefined
      ? framesAfter(context, filter.afterSeq, through)
      : framesOf(context, filter.jobId);
  const found: LoggedEvent[] = [];
  for (const number of numbers) {
    for (const { record } of recordsIn(context, number)) {
      if (record === null || record.seq <= filter.afterSeq || record.seq > through || !fits(record, filter))
        continue;
      found.push(eventOf(record));
      if (found.length === filter.limit) return found;
    }
  }
  return found;
}

function fits(record: AuditRecord, { tenantId, ownerId, jobId, kinds }: EventFilter): boolean {
  return (
    (tenantId === undefined || record.tenant_id === tenantId) &&
    (ownerId === undefined || record.owner_id === ownerId) &&
    (jobId === undefined || record.job_id === jobId) &&
    (kinds === undefined || (kinds as string[]).includes(record.event))
  );
}

/** A frame at a time, because a reader of the log rarely wants more than the newest. */
export function* framesAfter({ sql }: ReadContext, afterSeq: number, through: number): Generator<number> {
  const text = `SELECT number, first_event AS first, last_event AS last FROM frames INDEXED BY frames_by_event
    WHERE last_event > ? AND last_event >= first_event ORDER BY last_event LIMIT 32`;
  for (let after = afterSeq; ; ) {
    const page = sql.all<{ number: number; first: number; last: number }>(text, after);
    for (const { number, first } of page) {
      if (first > through) return;
      yield number;
    }
    if (page.length < 32) return;
    after = page.at(-1)!.last;
  }
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

export type ReadRecord = { seq: number; hash: string; record: AuditRecord | null; text: string };

/** The records of a frame with their hashes; null for one that was removed or cannot be read. */
export function* recordsIn(context: ReadContext, number: number): Generator<ReadRecord> {
  const row = context.sql.first<{ first: number }>(
    "SELECT first_event AS first FROM frames WHERE number = ?",
    number,
  );
  let seq = row?.first ?? 0;
  for (const { text, sha256, isKept } of context.frames.entries(number, "events")) {
    yield { seq, hash: sha256, record: isKept ? parsed(text) : null, text };
    seq++;
  }
}

function parsed(text: string): AuditRecord | null {
  try {
    return JSON.parse(text) as AuditRecord;
  } catch {
    return null;
  }
}

/** The event that a record shows. */
export function eventOf(record: AuditRecord): LoggedEvent {
  const { job_id: jobId, context } = record;
  const { job_id: _, ...details } = record.details as { job_id?: unknown };
  const origin = {
    userId: record.user_id,
    ipAddress: record.ip_address,
    userAgent: record.user_agent,
    endpoint: context.endpoint,
    method: context.method,
  };
  return {
    seq: record.seq,
    jobSeq: record.job_seq,
    event: record.event as LoggedEvent["event"],
    ts: Date.parse(record.timestamp),
    tenantId: record.tenant_id,
    jobId,
    ownerId: record.owner_id,
    details: jobId === null ? record.details : details,
    origin: Object.values(origin).every((value) => value === null) ? null : origin,
  };
}
