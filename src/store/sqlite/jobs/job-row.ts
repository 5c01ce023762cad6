// The row of a job, and how it becomes a record. Why: ADR 0081, ADR 0091, ADR 0128.
import type { Effects, Readiness } from "../../../core/jobs/effects.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import { columnOf, type StoredField } from "../../jobs/job-columns.ts";
import { readRecord, recordFields } from "../../jobs/stored-record.ts";
import type { Context } from "../context.ts";
import type { Connection, SqlValue } from "../database/connection.ts";
import type { QueueKeys } from "../reads/read-context.ts";

const fields = recordFields;

/** What no row has: version 0.1 did not know it. */
const absent: Partial<Record<StoredField, string>> = { terms: "NULL" };

/** For SELECT: the columns of a record, then the queue. */
export const jobColumns = jobColumnsWith({});

/** The same with expressions in place of some columns. */
export function jobColumnsWith(expressions: Partial<Record<StoredField, string>>): string {
  const columns = fields.map((field) => expressions[field] ?? absent[field] ?? `jobs.${columnOf[field]}`);
  return `${columns.join(", ")}, jobs.queue_id`;
}

/** Where the columns selected after `jobColumns` begin. */
export const jobWidth = fields.length + 1;

export type Row = SqlValue[];

/** Where the key of a record's queue is found. */
export type QueueContext = { sql: Connection; book: QueueKeys };

/** The record in a row that was selected with `jobColumns`. */
export function readJob(context: QueueContext, row: Row): JobRecord {
  return readRecord(row, context.book.byId(row[fields.length] as number)?.key ?? "");
}

/**
 * Values that are the same for every new job are part of the statement, because binding a value costs more than storing
 * it.
 */
const insertText = `INSERT INTO jobs (seq, id, queue_id, tenant_id, user_id, type, priority, document_sha256,
    idempotency_key, is_key_chosen, request_hash, max_attempts, attempts_chosen, limits_defaulted, timeout_sec, document_timeout_sec, queue_ttl_sec,
    created_at, run_at, ready, due_at, status, attempt, attempts, releases, retry_counts, fail_history, event_count)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', 0, 0, 0, '{}', '[]', 1)
  ON CONFLICT DO NOTHING`;

/** False if a job with this id, or this idempotency key in this tenant, already exists. */
export function insertJob(
  context: Context,
  { after: job, readiness, dueAt }: Effects,
  columns: { queueId: number; isKeyChosen: boolean },
): boolean {
  if (job.terms !== null) throw new Error("a file of rows cannot keep the terms of a job");
  const inserted = context.sql.run(
    insertText,
    job.seq,
    job.id,
    columns.queueId,
    job.tenantId,
    job.userId,
    job.type,
    job.priority,
    job.documentSha256,
    job.idempotencyKey,
    Number(columns.isKeyChosen),
    job.requestHash,
    job.maxAttempts,
    Number(job.attemptsChosen),
    job.limitsDefaulted,
    job.timeoutSec,
    job.documentTimeoutSec,
    job.queueTtlSec,
    job.createdAt,
    job.runAt,
    readyOf[readiness],
    dueAt,
  );
  return inserted === 1;
}

/**
 * Writes what a patch changes, if the stored job is still the one that the patch was made for. A column that keeps its
 * value is left out: naming it would make SQLite rewrite every index that contains it.
 */
export function updateJob(context: Context, before: JobRecord, effects: Effects): boolean {
  const { patch, dueAt } = effects;
  const values: SqlValue[] = dueAt === null ? [] : [dueAt];
  let shape = (dueAt === null ? "-" : "+") + readyShape(before, effects);
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index]!;
    const value = patch[field];
    if (value === undefined || value === before[field]) continue;
    shape += value === null ? setNullMarks[index] : setMarks[index];
    if (value !== null) values.push(toSql(value));
  }
  values.push(before.seq, before.attempt, before.status, before.leaseTokenHash);
  return context.sql.run(updateText(shape), ...values) === 1;
}

/** The column `ready`: see the first migration. */
const readyOf = { now: 1, later: 0, never: null } as const satisfies Record<Readiness, 0 | 1 | null>;

/** Empty if the column keeps its value: a job that is not pending stays out of the index of claimable jobs. */
function readyShape(before: JobRecord, { readiness }: Effects): string {
  return readiness === "never" && before.status !== "pending" ? "" : String(readyOf[readiness]);
}

/**
 * The columns that an update sets, as a short key: building the whole statement each time cost as much as running it.
 */
const setMarks = fields.map((_, index) => ` ${index}`);
const setNullMarks = fields.map((_, index) => ` -${index}`);

/** As many as there are ways in which a job changes, a few dozen. */
const updateTexts = new Map<string, string>();

function updateText(shape: string): string {
  let text = updateTexts.get(shape);
  if (text === undefined) {
    const [first, ...marks] = shape.split(" ");
    const ready = first!.slice(1);
    const parts = [`due_at = ${first!.startsWith("-") ? "NULL" : "?"}`];
    if (ready !== "") parts.push(`ready = ${ready}`);
    for (const mark of marks) {
      const column = columnOf[fields[Math.abs(Number(mark))]!];
      parts.push(mark.startsWith("-") ? `${column} = NULL` : `${column} = ?`);
    }
    const fence = "seq = ? AND attempt = ? AND status = ? AND lease_token_hash IS ?";
    text = `UPDATE jobs SET ${parts.join(", ")} WHERE ${fence}`;
    updateTexts.set(shape, text);
  }
  return text;
}

function toSql(value: JobRecord[StoredField]): SqlValue {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

const byIdText = `SELECT ${jobColumns} FROM jobs WHERE id = ?`;

export function loadJob(context: QueueContext, jobId: string): JobRecord | null {
  const row = context.sql.rowStatement(byIdText).get(jobId) as Row | undefined;
  return row === undefined ? null : readJob(context, row);
}

/** The records of all rows that a condition selects. */
export function loadJobs(context: QueueContext, condition: string, ...values: SqlValue[]): JobRecord[] {
  const rows = context.sql.rowStatement(`SELECT ${jobColumns} FROM jobs ${condition}`).all(...values);
  return (rows as unknown as Row[]).map((row) => readJob(context, row));
}

/** Whether a worker holds the job under this attempt. */
export function isHeldRow({ sql }: Pick<Context, "sql">, jobId: string, attempt: number | null): boolean {
  const text = "SELECT 1 FROM jobs WHERE id = ? AND attempt = ? AND status IN ('assigned', 'running')";
  return sql.first(text, jobId, attempt) !== null;
}
