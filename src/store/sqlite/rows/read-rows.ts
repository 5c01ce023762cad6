// What version 0.1 told of its rows, so that it can be compared with the frames they were put into. Why: ADR 0121, ADR 0122.
import type { LoggedEvent } from "../../../core/events.ts";
import type { JobState } from "../../../core/jobs/job.ts";
import { findDamage } from "../../jobs/find-damage.ts";
import { columnOf } from "../../jobs/job-columns.ts";
import { isReceiptSealed, readRouting } from "../../jobs/job-seal.ts";
import { isHistoryLost, readRecord, recordFields } from "../../jobs/stored-record.ts";
import { readEvent, type StoredEvent } from "../../log/stored-event.ts";
import type { QueueBook } from "../../queues/queue-book.ts";
import type { ForgottenJob, StoredJob } from "../../store.ts";
import { loadBook } from "../claims/queue-rows.ts";
import { Tallies } from "../counts/tallies.ts";
import type { Connection, SqlValue } from "../database/connection.ts";
import { soundJob } from "./sound-job.ts";

export type Rows = {
  readonly sql: Connection;
  readonly macKey: Buffer;
  readonly book: QueueBook;
  readonly tallies: Tallies;
  readonly jobText: string;
};

export function readRows(sql: Connection, macKey: Buffer): Rows {
  return { sql, macKey, book: loadBook(sql), tallies: new Tallies(sql), jobText: jobText(sql) };
}

const width = recordFields.length;

/** What jobs have got since, no row has. */
function jobText(sql: Connection): string {
  const columns = sql.all<{ name: string }>("SELECT name FROM pragma_table_info('jobs')");
  const known = new Set(columns.map(({ name }) => name));
  const values = recordFields.map((field) =>
    known.has(columnOf[field]) ? `jobs.${columnOf[field]}` : "NULL",
  );
  return `SELECT ${values.join(", ")}, jobs.queue_id, document, mac, output_dropped_through, output_sizes
    FROM jobs LEFT JOIN documents ON documents.job_seq = jobs.seq WHERE jobs.id = ?`;
}

/** With its seal and its hash checked. */
export function readJob({ sql, macKey, book, tallies, jobText }: Rows, jobId: string): StoredJob | null {
  const row = sql.rowStatement(jobText).get(jobId) as unknown as SqlValue[] | undefined;
  if (row === undefined) return null;
  const [queueId, text, mac, throughAttempt, sizes] = row.slice(width) as [
    number,
    unknown,
    Uint8Array,
    number,
    string | null,
  ];
  const document = typeof text === "string" ? text : "";
  const { job, damaged } = soundJob(readRecord(row, book.byId(queueId)?.key ?? ""));
  if (isHistoryLost(row)) damaged.push("fail_history");
  const uncheckedHashSeq = tallies.get("unchecked_hash_seq");
  damaged.push(...findDamage(macKey, { job, document, mac, uncheckedHashSeq }));
  return { job, document, output: { throughAttempt, sizes: readSizes(sizes) }, damaged };
}

/** None if the text is damaged, because sizes are only shown. */
function readSizes(text: string | null): StoredJob["output"]["sizes"] {
  try {
    return (JSON.parse(text ?? "{}") ?? {}) as StoredJob["output"]["sizes"];
  } catch {
    // Not JSON.
    return {};
  }
}

export function readHistory({ sql }: Rows, jobId: string): LoggedEvent[] {
  const events = sql.all<StoredEvent>(
    `SELECT seq, ts, event, tenant_id AS tenantId, job_id AS jobId, owner_id AS ownerId, job_seq AS jobSeq,
      details, origin FROM events WHERE job_id = ? ORDER BY seq`,
    jobId,
  );
  return events.map(readEvent);
}

type Receipt = { document: string; routing: string; mac: Uint8Array; receipt: string };

/** The receipt of a job that is gone. */
export function readReceipt({ sql, macKey }: Rows, jobId: string): ForgottenJob | null {
  const row = sql.first<Receipt>(
    "SELECT document, routing, mac, receipt FROM receipts WHERE job_id = ? ORDER BY job_seq DESC LIMIT 1",
    jobId,
  );
  if (row === null) return null;
  const { document, routing, mac, receipt } = row;
  const isSealed = isReceiptSealed(macKey, { jobId, document, routing, mac });
  return { ...readRouting(routing), id: jobId, document, receipt, isSealed };
}

/** The ids of the newest jobs in a state. */
export function newestIn({ sql }: Rows, state: JobState, limit: number): string[] {
  const rows = sql.all<{ id: string }>(
    "SELECT id FROM jobs WHERE status = ? ORDER BY seq DESC LIMIT ?",
    state,
    limit,
  );
  return rows.map(({ id }) => id);
}
