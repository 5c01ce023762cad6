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
import { type Connection, type SqlValue, toJson } from "../connection/connection.ts";
import { lockLogText } from "../connection/locks.ts";
import { eventColumns } from "../log/event-log.ts";
import { Conditions } from "../reads/conditions.ts";
import type { Transaction } from "../transaction/transaction.ts";

/** No other transaction numbers or seals events until this one ends. */
async function lockLog({ sql }: Transaction): Promise<void> {
  await sql.all(lockLogText);
}

/**
 * Chains the oldest events that are not sealed yet, in order: the log leaves none once these are sealed. Why: ADR 0014.
 */
export async function sealEvents(
  tx: Transaction,
  { limit }: { limit: number },
): Promise<{ sealed: number; head: { seq: number; hash: string } | null; more: boolean }> {
  await lockLog(tx);
  const last = await tx.sql.first<ChainSeal>(
    "SELECT seq, severity, hash FROM audit_seals ORDER BY seq DESC LIMIT 1",
  );
  const events = await tx.sql.all<StoredEvent>(
    `SELECT ${eventColumns} FROM events WHERE seq > $1 ORDER BY seq LIMIT $2`,
    last?.seq ?? 0,
    limit,
  );
  const seals = chainEvents(last, events);
  if (seals.length > 0)
    tx.send(
      "INSERT INTO audit_seals SELECT * FROM json_populate_recordset(NULL::audit_seals, $1)",
      toJson(seals),
    );
  const head = seals.at(-1) ?? last;
  return {
    sealed: seals.length,
    head: head && { seq: head.seq, hash: head.hash },
    more: seals.length === limit,
  };
}

/** Leaves out numbers of the log that were given before, by a database that is lost. */
export async function skipEvents(
  tx: Transaction,
  { throughSeq, hash }: { throughSeq: number; hash: string },
): Promise<void> {
  await lockLog(tx);
  const skipped = await tx.sql.run("UPDATE log_state SET last = $1 WHERE last < $1", throughSeq);
  if (skipped === 0) return;
  await tx.sql.all("SELECT add_log_partitions($1)", throughSeq + 1);
  // The next record follows this seal, as after events that were pruned.
  tx.send("INSERT INTO audit_seals (seq, severity, hash) VALUES ($1, 'LOW', $2)", throughSeq, hash);
}

export async function saveAuditMark(tx: Transaction, { mark }: { mark: AuditMark }): Promise<void> {
  tx.send(
    `INSERT INTO audit_marks (audit, seq, hash, ts, key_id, signature) VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (audit, seq) DO NOTHING`,
    mark.audit,
    mark.seq,
    mark.hash,
    mark.ts,
    mark.key_id,
    mark.signature,
  );
  tx.send(
    `DELETE FROM audit_marks WHERE audit = $1 AND seq <
      (SELECT seq FROM audit_marks WHERE audit = $1 ORDER BY seq DESC LIMIT 1 OFFSET $2)`,
    mark.audit,
    headsMax,
  );
}

/** The newest statement of this kind. */
export function findAuditMark(
  sql: Connection,
  { audit }: { audit: AuditMark["audit"] },
): Promise<AuditMark | null> {
  return sql.first<AuditMark>("SELECT * FROM audit_marks WHERE audit = $1 ORDER BY seq DESC LIMIT 1", audit);
}

type SealedRow = StoredEvent & ChainSeal & { prevHash: string | null };

const sealedText = `SELECT ${eventColumns}, audit_seals.severity, audit_seals.hash,
    (SELECT hash FROM audit_seals AS before WHERE before.seq = events.seq - 1) AS "prevHash"
  FROM events JOIN audit_seals USING (seq)`;

async function readSealedRows(
  sql: Connection,
  condition: string,
  ...values: SqlValue[]
): Promise<SealedRecord[]> {
  const rows = await sql.all<SealedRow>(`${sealedText} ${condition}`, ...values);
  return rows.map((row) => sealedRecord(row, row));
}

/** Sealed records in order, to be moved elsewhere. */
export function readSealed(
  sql: Connection,
  { afterSeq, limit }: { afterSeq: number; limit: number },
): Promise<SealedRecord[]> {
  return readSealedRows(sql, "WHERE events.seq > $1 ORDER BY events.seq LIMIT $2", afterSeq, limit);
}

/**
 * Examines at most `window` records, newest first, and returns those that match. A search for something rare takes many
 * short acts instead of one that would make everybody wait.
 */
export async function searchAudit(sql: Connection, filter: AuditFilter): Promise<AuditPage> {
  const range = await sql.first<{ last: number | null }>(
    "SELECT max(seq) AS last FROM audit_seals WHERE seq < $1",
    filter.before,
  );
  const last = range!.last;
  const { after = 0 } = filter;
  if (last === null || last <= after) return { records: [], next: null };
  const from = Math.max(after, last - filter.window);
  const conditions = new Conditions().add("events.seq > ?", from).add("events.seq <= ?", last);
  conditions.add("events.event = ?", filter.event);
  conditions.add("NOT (events.event = ANY (?))", filter.without);
  conditions.add("events.event = ANY (?)", filter.kinds);
  conditions.add("audit_seals.severity = ?", filter.severity);
  conditions.add("events.tenant_id = ?", filter.tenantId);
  conditions.add("events.job_id = ?", filter.jobId);
  conditions.add("events.ts >= ?", filter.since);
  conditions.add("events.ts < ?", filter.until);
  conditions.add("starts_with(events.origin, ?)", filter.userId && originsOf(filter.userId));
  const limit = conditions.bind(filter.limit);
  const condition = `WHERE ${conditions.text} ORDER BY events.seq DESC LIMIT ${limit}`;
  const records = await readSealedRows(sql, condition, ...conditions.values);
  const seen = records.length === filter.limit ? records.at(-1)!.seq : from + 1;
  const older = await sql.first("SELECT 1 FROM events WHERE seq < $1 AND seq > $2 LIMIT 1", seen, after);
  return { records, next: older === null ? null : seen };
}

/** Counts the events of these kinds in a range of the log; a daily digest needs no more. */
export async function countEvents(
  sql: Connection,
  input: { afterSeq: number; throughSeq: number; kinds: EventKind[] },
): Promise<EventCount[]> {
  const events = await sql.all<CountedEvent>(
    `SELECT event, tenant_id AS "tenantId", origin,
        CASE WHEN strpos(details, '"folded":') > 0 THEN details END AS details
      FROM events WHERE seq > $1 AND seq <= $2 AND event = ANY ($3)`,
    input.afterSeq,
    input.throughSeq,
    input.kinds,
  );
  return sumEvents(events);
}
