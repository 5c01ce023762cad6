import type { EventKind } from "../../../core/events.ts";
import type { AuditFilter, AuditPage, EventCount } from "../../audit-store.ts";
import type { EntryEvent } from "../../frames/event-entry.ts";
import type { FrameRecord } from "../../frames/records.ts";
import { sealedRecord } from "../../log/audit-chain.ts";
import type { SealedRecord } from "../../log/audit-record.ts";
import { type StoredEvent, userOf } from "../../log/stored-event.ts";
import { sumEvents } from "../../log/sum-events.ts";
import type { EventTraits } from "../frames/event-index.ts";
import { frameOfEvent } from "../frames/frame-rows.ts";
import type { ReadContext } from "./read-context.ts";
import { framesAfter, recordsIn } from "./read-events.ts";

/** Records in order, to be moved elsewhere. All of them are sealed. Why: ADR 0116. */
export function readSealed(
  context: ReadContext,
  { afterSeq, limit }: { afterSeq: number; limit: number },
): SealedRecord[] {
  const found: SealedRecord[] = [];
  for (const record of recordsBetween(context, { after: afterSeq, through: Number.MAX_SAFE_INTEGER })) {
    if (found.push(shown(record)) === limit) break;
  }
  return found;
}

/** Examines at most `window` records, newest first, and returns those that match. */
export function searchAudit(context: ReadContext, filter: AuditFilter): AuditPage {
  const { after = 0, before, limit } = filter;
  const last = lastBefore(context, before);
  if (last === null || last <= after) return { records: [], next: null };
  const from = Math.max(after, last - filter.window);
  const { tenantId, severity } = filter;
  const kinds = filter.event === undefined ? filter.kinds : [filter.event];
  const found = recordsBetween(context, { after: from, through: last, tenantId, severity, kinds });
  const matching = [...found].filter((record) => fits(record, filter));
  const records = matching.slice(-limit).reverse().map(shown);
  const seen = records.length === limit ? records.at(-1)!.seq : from + 1;
  const isOlder = lastBefore(context, seen) !== null && lastBefore(context, seen)! > after;
  return { records, next: isOlder ? seen : null };
}

function fits({ event: { stored, severity } }: ReadRecord, filter: AuditFilter): boolean {
  return (
    (filter.event === undefined || stored.event === filter.event) &&
    !filter.without?.includes(stored.event) &&
    (filter.kinds === undefined || filter.kinds.includes(stored.event)) &&
    (filter.severity === undefined || severity === filter.severity) &&
    (filter.tenantId === undefined || stored.tenantId === filter.tenantId) &&
    (filter.userId === undefined || userOf(stored.origin) === filter.userId) &&
    (filter.jobId === undefined || stored.jobId === filter.jobId) &&
    (filter.since === undefined || stored.ts >= filter.since) &&
    (filter.until === undefined || stored.ts < filter.until)
  );
}

/** The last record below this number that is still there. */
function lastBefore({ sql, tallies }: ReadContext, before: number): number | null {
  const number = frameOfEvent(sql, before - 1);
  const last = sql.first<{ seq: number }>(
    `SELECT min(last_event, ?1 - 1) AS seq FROM frames
      WHERE number <= ?2 AND first_event < ?1 AND last_event >= first_event ORDER BY number DESC LIMIT 1`,
    before,
    number ?? Number.MAX_SAFE_INTEGER,
  );
  return last !== null && last.seq > tallies.get("pruned_event") ? last.seq : null;
}

/** Counts the events of these kinds in a range of the log; a daily digest needs no more. */
export function countEvents(
  context: ReadContext,
  { afterSeq, throughSeq, kinds }: { afterSeq: number; throughSeq: number; kinds: EventKind[] },
): EventCount[] {
  const counted: StoredEvent[] = [];
  for (const { event } of recordsBetween(context, { after: afterSeq, through: throughSeq, kinds }))
    if (kinds.includes(event.stored.event)) counted.push(event.stored);
  return sumEvents(counted);
}

type ReadRecord = FrameRecord & { event: EntryEvent };

type Stretch = EventTraits & { after: number; through: number };

/** Records of which some have the traits, and others are in the same frames. */
function* recordsBetween(
  context: ReadContext,
  { after, through, ...traits }: Stretch,
): Generator<ReadRecord> {
  for (const number of framesAfter(context, after, through, traits))
    for (const record of recordsIn(context, number))
      if (record.event !== null && record.seq > after && record.seq <= through) yield record as ReadRecord;
}

/** The record of the audit trail that an entry stands for. */
function shown({ event, hash, prevHash }: ReadRecord): SealedRecord {
  return sealedRecord(event.stored, { severity: event.severity, hash, prevHash });
}
