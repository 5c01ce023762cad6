import type { EventKind } from "../../../core/events.ts";
import type { AuditFilter, AuditPage, EventCount } from "../../audit-store.ts";
import type { AuditRecord, SealedRecord } from "../../log/audit-record.ts";
import { type CountedEvent, sumEvents } from "../../log/sum-events.ts";
import type { ReadContext } from "./read-context.ts";
import { framesAfter, recordsIn } from "./read-events.ts";

/** Records in order, to be moved elsewhere. All of them are sealed. */
export function readSealed(
  context: ReadContext,
  { afterSeq, limit }: { afterSeq: number; limit: number },
): SealedRecord[] {
  const found: SealedRecord[] = [];
  for (const sealed of recordsBetween(context, afterSeq, Number.MAX_SAFE_INTEGER)) {
    if (found.push(sealed) === limit) break;
  }
  return found;
}

/** Examines at most `window` records, newest first, and returns those that match. */
export function searchAudit(context: ReadContext, filter: AuditFilter): AuditPage {
  const { after = 0, before, limit } = filter;
  const last = lastBefore(context, before);
  if (last === null || last <= after) return { records: [], next: null };
  const from = Math.max(after, last - filter.window);
  const matching = [...recordsBetween(context, from, last)].filter((record) => fits(record, filter));
  const records = matching.slice(-limit).reverse();
  const seen = records.length === limit ? records.at(-1)!.seq : from + 1;
  const isOlder = lastBefore(context, seen) !== null && lastBefore(context, seen)! > after;
  return { records, next: isOlder ? seen : null };
}

function fits(record: AuditRecord, filter: AuditFilter): boolean {
  const at = Date.parse(record.timestamp);
  return (
    (filter.event === undefined || record.event === filter.event) &&
    (filter.without === undefined || record.event !== filter.without) &&
    (filter.kinds === undefined || (filter.kinds as string[]).includes(record.event)) &&
    (filter.severity === undefined || record.severity === filter.severity) &&
    (filter.tenantId === undefined || record.tenant_id === filter.tenantId) &&
    (filter.userId === undefined || record.user_id === filter.userId) &&
    (filter.jobId === undefined || record.job_id === filter.jobId) &&
    (filter.since === undefined || at >= filter.since) &&
    (filter.until === undefined || at < filter.until)
  );
}

/** The last record below this number that is still there. */
function lastBefore({ sql, tallies }: ReadContext, before: number): number | null {
  const row = sql.first<{ seq: number | null }>(
    `SELECT max(min(last_event, ?1 - 1)) AS seq FROM frames
      WHERE first_event < ?1 AND last_event >= first_event AND last_event > ?2`,
    before,
    tallies.get("pruned_event"),
  )!;
  return row.seq !== null && row.seq > tallies.get("pruned_event") ? row.seq : null;
}

/** Counts the events of these kinds in a range of the log; a daily digest needs no more. */
export function countEvents(
  context: ReadContext,
  { afterSeq, throughSeq, kinds }: { afterSeq: number; throughSeq: number; kinds: EventKind[] },
): EventCount[] {
  const counted: CountedEvent[] = [];
  for (const record of recordsBetween(context, afterSeq, throughSeq)) {
    if (!(kinds as string[]).includes(record.event)) continue;
    const { user_id: userId } = record;
    counted.push({
      event: record.event as EventKind,
      tenantId: record.tenant_id,
      origin: userId === null ? null : JSON.stringify({ userId }),
      details: JSON.stringify(record.details),
    });
  }
  return sumEvents(counted);
}

function* recordsBetween(context: ReadContext, after: number, through: number): Generator<SealedRecord> {
  for (const number of framesAfter(context, after, through))
    for (const { seq, hash, record } of recordsIn(context, number))
      if (record !== null && seq > after && seq <= through) yield { ...record, hash };
}
