import type { LoggedEvent, NewEvent } from "../../../core/events.ts";
import { type ChainSeal, sealEvent } from "../../log/audit-chain.ts";
import { readEvent, type StoredEvent, storedEvent } from "../../log/stored-event.ts";
import type { EventFilter } from "../../store.ts";
import type { Context } from "../context.ts";
import { Conditions } from "../reads/conditions.ts";
import type { ReadContext } from "../reads/read-context.ts";

const insertText = `INSERT INTO events (seq, ts, event, tenant_id, job_id, owner_id, job_seq, details, origin)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/**
 * Adds one event to the log and its seal to the chain, in the transaction of the change that it describes. An event
 * without a job has no number within a job. Why: ADR 0004, ADR 0062.
 */
export function appendEvent(context: Context, event: NewEvent & { jobSeq?: number | null }): void {
  const prevHash = context.chain.end(context.sql);
  const stored = storedEvent(event, context.tallies.add("event_seq", 1));
  insertEvent(context, stored);
  if (prevHash === null) return;
  const seal = sealEvent(stored, prevHash);
  insertSeal(context, seal);
  context.chain.moveTo(seal.hash);
}

function insertEvent({ sql }: Context, event: StoredEvent): void {
  const { seq, ts, tenantId, jobId, ownerId, jobSeq, details, origin } = event;
  sql.run(insertText, seq, ts, event.event, tenantId, jobId, ownerId, jobSeq, details, origin);
}

export function insertSeal({ sql }: Context, { seq, severity, hash }: ChainSeal): void {
  sql.run("INSERT INTO audit_seals (seq, severity, hash) VALUES (?, ?, ?)", seq, severity, hash);
}

/** Events from outside a change. An event of a known job takes that job's next number. */
export function recordEvents(context: Context, input: { events: NewEvent[] }): void {
  for (const event of input.events) {
    appendEvent(context, {
      ...event,
      jobSeq: event.jobId === null ? null : nextJobSeq(context, event.jobId),
    });
  }
}

function nextJobSeq(context: Context, jobId: string): number | null {
  context.held.delete(jobId);
  const row = context.sql.first<{ seq: number; event_count: number }>(
    "UPDATE jobs SET event_count = event_count + 1 WHERE id = ? RETURNING seq, event_count",
    jobId,
  );
  if (row !== null) context.fresh.forget(row.seq);
  return row?.event_count ?? null;
}

/** For SELECT: the columns of a stored event. */
export const eventColumns = `seq, ts, event, tenant_id AS tenantId, job_id AS jobId, owner_id AS ownerId,
    job_seq AS jobSeq, details, origin`;

export function readEvents(context: ReadContext, filter: EventFilter): LoggedEvent[] {
  const conditions = new Conditions().add("seq > ?", filter.afterSeq);
  conditions.add("seq <= ?", filter.throughSeq);
  conditions.add("tenant_id = ?", filter.tenantId);
  conditions.add("owner_id = ?", filter.ownerId);
  conditions.add("job_id = ?", filter.jobId);
  conditions.add("event IN (SELECT value FROM json_each(?))", filter.kinds && JSON.stringify(filter.kinds));
  const text = `SELECT ${eventColumns} FROM events WHERE ${conditions.text} ORDER BY seq LIMIT ?`;
  return context.sql.all<StoredEvent>(text, ...conditions.values, filter.limit).map(readEvent);
}

export function eventRange(context: Context): { first: number; last: number } {
  // Two seeks; one statement with both min and max would read the whole table.
  const first = context.sql.first<{ seq: number | null }>("SELECT min(seq) AS seq FROM events")!.seq;
  const last = context.sql.first<{ seq: number | null }>("SELECT max(seq) AS seq FROM events")!.seq;
  return { first: first ?? 0, last: last ?? 0 };
}

/** Deletes the oldest events up to a given one. The seal of the last one stays, because the next record follows it. */
export function pruneEvents(
  context: Context,
  { throughSeq, limit }: { throughSeq: number; limit: number },
): { removed: number } {
  const removed = context.sql.run(
    "DELETE FROM events WHERE seq <= ? AND seq IN (SELECT seq FROM events ORDER BY seq LIMIT ?)",
    throughSeq,
    limit,
  );
  const { first } = eventRange(context);
  const kept = first === 0 ? throughSeq : first - 1;
  context.sql.run("DELETE FROM audit_seals WHERE seq < ?", Math.min(kept, throughSeq));
  return { removed };
}
