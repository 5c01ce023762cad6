// The event log: events from outside a change, pages for readers, and the removal of old events.
// Why: ADR 0021, ADR 0080.
import type { LoggedEvent, NewEvent } from "../../../core/events.ts";
import type { EventFilter } from "../../event-store.ts";
import { readEvent, type StoredEvent } from "../../log/stored-event.ts";
import type { Connection } from "../connection/connection.ts";
import { Conditions } from "../reads/conditions.ts";
import type { Answer } from "../transaction/answers.ts";
import { lockJobs } from "../transaction/lock-jobs.ts";
import type { Transaction } from "../transaction/transaction.ts";

/** Events from outside a change. An event of a known job takes that job's next number. */
export async function recordEvents(tx: Transaction, inputs: { events: NewEvent[] }[]): Promise<Answer[]> {
  const events = inputs.flatMap((input) => input.events);
  const ids = events.flatMap(({ jobId }) => jobId ?? []);
  const jobs = await tx.begin(() => lockJobs(tx, ids));
  for (const event of events) {
    const kept = event.jobId === null ? undefined : jobs.get(event.jobId);
    if (kept === undefined) {
      tx.log({ ...event, jobSeq: null });
      continue;
    }
    const jobSeq = kept.job.eventCount + 1;
    jobs.set(kept.job.id, tx.work.put(kept, { ...kept, job: { ...kept.job, eventCount: jobSeq } }));
    tx.log({ ...event, jobSeq });
  }
  return inputs.map(() => ({ value: undefined }));
}

/** For SELECT: the columns of a stored event. */
export const eventColumns = `seq, ts, event, tenant_id AS "tenantId", job_id AS "jobId", owner_id AS "ownerId",
    job_seq AS "jobSeq", details, origin`;

export async function readEvents(sql: Connection, filter: EventFilter): Promise<LoggedEvent[]> {
  const conditions = new Conditions().add("seq > ?", filter.afterSeq);
  conditions.add("seq <= ?", filter.throughSeq);
  conditions.add("tenant_id = ?", filter.tenantId);
  conditions.add("owner_id = ?", filter.ownerId);
  conditions.add("job_id = ?", filter.jobId);
  conditions.add("event = ANY (?)", filter.kinds);
  const limit = conditions.bind(filter.limit);
  const text = `SELECT ${eventColumns} FROM events WHERE ${conditions.text} ORDER BY seq LIMIT ${limit}`;
  return (await sql.all<StoredEvent>(text, ...conditions.values)).map(readEvent);
}

export async function eventRange(sql: Connection): Promise<{ first: number; last: number }> {
  const row = await sql.first<{ first: number; last: number }>(
    "SELECT coalesce(min(seq), 0) AS first, coalesce(max(seq), 0) AS last FROM events",
  );
  return row!;
}

/** Deletes the oldest events up to a given one. The seal of the last one stays, because the next record follows it. */
export async function pruneEvents(
  tx: Transaction,
  { throughSeq, limit }: { throughSeq: number; limit: number },
): Promise<{ removed: number }> {
  const dropped = await tx.sql.first<{ removed: number }>(
    "SELECT drop_log_partitions($1) AS removed",
    throughSeq,
  );
  const removed = await tx.sql.run(
    "DELETE FROM events WHERE seq <= $1 AND seq IN (SELECT seq FROM events ORDER BY seq LIMIT $2)",
    throughSeq,
    limit,
  );
  const { first } = await eventRange(tx.sql);
  const kept = first === 0 ? throughSeq : first - 1;
  await tx.sql.run("DELETE FROM audit_seals WHERE seq < $1", Math.min(kept, throughSeq));
  return { removed: dropped!.removed + removed };
}
