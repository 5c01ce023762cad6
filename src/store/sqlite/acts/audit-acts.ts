import type { EventKind } from "../../../core/events.ts";
import {
  type AuditFilter,
  type AuditMark,
  type AuditPage,
  type EventCount,
  headsMax,
} from "../../audit-store.ts";
import { type ChainSeal, chainEvents, sealedRecord } from "../../log/audit-chain.ts";
import type { SealedRecord } from "../../log/audit-record.ts";
import { originsOf, type StoredEvent } from "../../log/stored-event.ts";
import { type CountedEvent, sumEvents } from "../../log/sum-events.ts";
import type { Context } from "../context.ts";
import type { SqlValue } from "../database/connection.ts";
import { eventColumns, insertSeal } from "../log/event-log.ts";
import { Conditions } from "../reads/conditions.ts";
import type { ReadContext } from "../reads/read-context.ts";

/**
 * Chains the oldest events that are not sealed yet, in order: `appendEvent` leaves none once these are sealed.
 * Why: ADR 0014, ADR 0062.
 */
export function sealEvents(
  context: Context,
  { limit }: { limit: number },
): { sealed: number; head: { seq: number; hash: string } | null; more: boolean } {
  const last = lastSeal(context);
  const events = context.sql.all<StoredEvent>(
    `SELECT ${eventColumns} FROM events WHERE seq > ? ORDER BY seq LIMIT ?`,
    last?.seq ?? 0,
    limit,
  );
  const seals = chainEvents(last, events);
  for (const seal of seals) insertSeal(context, seal);
  if (seals.length > 0) context.chain.forget();
  const head = seals.at(-1) ?? last;
  return {
    sealed: seals.length,
    head: head && { seq: head.seq, hash: head.hash },
    more: seals.length === limit,
  };
}

function lastSeal(context: Context): ChainSeal | null {
  return context.sql.first<ChainSeal>(
    "SELECT seq, severity, hash FROM audit_seals ORDER BY seq DESC LIMIT 1",
  );
}

export function saveAuditMark(context: Pick<Context, "sql">, { mark }: { mark: AuditMark }): void {
  context.sql.run(
    `INSERT INTO audit_marks (audit, seq, hash, ts, key_id, signature) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (audit, seq) DO NOTHING`,
    mark.audit,
    mark.seq,
    mark.hash,
    mark.ts,
    mark.key_id,
    mark.signature,
  );
  context.sql.run(
    `DELETE FROM audit_marks WHERE audit = ?1 AND seq <
      (SELECT seq FROM audit_marks WHERE audit = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)`,
    mark.audit,
    headsMax,
  );
}

/** The newest statement of this kind. */
export function findAuditMark(
  context: Pick<Context, "sql">,
  { audit }: { audit: AuditMark["audit"] },
): AuditMark | null {
  return context.sql.first<AuditMark>(
    "SELECT * FROM audit_marks WHERE audit = ? ORDER BY seq DESC LIMIT 1",
    audit,
  );
}

type SealedRow = StoredEvent & ChainSeal & { prevHash: string | null };

const sealedText = `SELECT ${eventColumns}, audit_seals.severity, audit_seals.hash,
    (SELECT hash FROM audit_seals AS before WHERE before.seq = events.seq - 1) AS prevHash
  FROM events JOIN audit_seals USING (seq)`;

function readSealedRows(context: ReadContext, condition: string, ...values: SqlValue[]): SealedRecord[] {
  return context.sql
    .all<SealedRow>(`${sealedText} ${condition}`, ...values)
    .map((row) => sealedRecord(row, row));
}

/** Sealed records in order, to be moved elsewhere. */
export function readSealed(
  context: ReadContext,
  { afterSeq, limit }: { afterSeq: number; limit: number },
): SealedRecord[] {
  return readSealedRows(context, "WHERE events.seq > ? ORDER BY events.seq LIMIT ?", afterSeq, limit);
}

/**
 * Examines at most `window` records, newest first, and returns those that match. A search for something rare takes many
 * short acts instead of one that would make everybody wait.
 */
export function searchAudit(context: ReadContext, filter: AuditFilter): AuditPage {
  const range = context.sql.first<{ last: number | null }>(
    "SELECT max(seq) AS last FROM audit_seals WHERE seq < ?",
    filter.before,
  )!;
  const { after = 0 } = filter;
  if (range.last === null || range.last <= after) return { records: [], next: null };
  const from = Math.max(after, range.last - filter.window);
  const conditions = new Conditions().add("events.seq > ?", from).add("events.seq <= ?", range.last);
  conditions.add("events.event = ?", filter.event);
  conditions.add(
    "events.event NOT IN (SELECT value FROM json_each(?))",
    filter.without && JSON.stringify(filter.without),
  );
  conditions.add(
    "events.event IN (SELECT value FROM json_each(?))",
    filter.kinds && JSON.stringify(filter.kinds),
  );
  conditions.add("audit_seals.severity = ?", filter.severity);
  conditions.add("events.tenant_id = ?", filter.tenantId);
  conditions.add("events.job_id = ?", filter.jobId);
  conditions.add("events.ts >= ?", filter.since);
  conditions.add("events.ts < ?", filter.until);
  conditions.add("instr(events.origin, ?) = 1", filter.userId && originsOf(filter.userId));
  const condition = `WHERE ${conditions.text} ORDER BY events.seq DESC LIMIT ?`;
  const records = readSealedRows(context, condition, ...conditions.values, filter.limit);
  const seen = records.length === filter.limit ? records.at(-1)!.seq : from + 1;
  const isOlder =
    context.sql.first("SELECT 1 FROM events WHERE seq < ? AND seq > ? LIMIT 1", seen, after) !== null;
  return { records, next: isOlder ? seen : null };
}

/** Counts the events of these kinds in a range of the log; a daily digest needs no more. */
export function countEvents(
  context: ReadContext,
  input: { afterSeq: number; throughSeq: number; kinds: EventKind[] },
): EventCount[] {
  const events = context.sql.all<CountedEvent>(
    `SELECT event, tenant_id AS tenantId, origin, iif(instr(details, '"folded":') > 0, details, NULL) AS details
      FROM events WHERE seq > ? AND seq <= ? AND event IN (SELECT value FROM json_each(?))`,
    input.afterSeq,
    input.throughSeq,
    JSON.stringify(input.kinds),
  );
  return sumEvents(events);
}
