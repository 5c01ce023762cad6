import type { Effects, Readiness } from "../../core/effects.ts";
import type { JobRecord } from "../../core/job.ts";
import type { Connection, SqlValue } from "./connection.ts";
import type { Context } from "./context.ts";
import type { QueueKeys } from "./read-context.ts";

type Column = Exclude<keyof JobRecord, "queueKey">;

/** The column of each field of a record, in the order of `jobColumns` and of a row. */
export const columnOf = {
  seq: "seq",
  id: "id",
  tenantId: "tenant_id",
  userId: "user_id",
  type: "type",
  priority: "priority",
  documentSha256: "document_sha256",
  idempotencyKey: "idempotency_key",
  requestHash: "request_hash",
  status: "status",
  attempt: "attempt",
  attempts: "attempts",
  maxAttempts: "max_attempts",
  attemptsChosen: "attempts_chosen",
  limitsDefaulted: "limits_defaulted",
  timeoutSec: "timeout_sec",
  documentTimeoutSec: "document_timeout_sec",
  releases: "releases",
  retryCounts: "retry_counts",
  queueTtlSec: "queue_ttl_sec",
  createdAt: "created_at",
  runAt: "run_at",
  claimedAt: "claimed_at",
  startedAt: "started_at",
  heartbeatAt: "heartbeat_at",
  completedAt: "completed_at",
  cancelRequestedAt: "cancel_requested_at",
  workerId: "worker_id",
  leaseTokenHash: "lease_token_hash",
  leaseKeyId: "lease_key_id",
  leaseExpiresAt: "lease_expires_at",
  deadlineAt: "deadline_at",
  result: "result",
  resultHash: "result_hash",
  resultKey: "result_key",
  partialResult: "partial_result",
  exitCode: "exit_code",
  progress: "progress",
  isolation: "isolation",
  usage: "usage",
  outputFiles: "output_files",
  receipt: "receipt",
  failReason: "fail_reason",
  failCode: "fail_code",
  failDetail: "fail_detail",
  failHistory: "fail_history",
  eventCount: "event_count",
} as const satisfies Record<Column, string>;

const fields = Object.keys(columnOf) as Column[];

/** For SELECT: the columns of a record, then the queue. */
export const jobColumns = jobColumnsWith({});

/** The same with expressions in place of some columns. */
export function jobColumnsWith(expressions: Partial<Record<Column, string>>): string {
  const columns = fields.map((field) => expressions[field] ?? `jobs.${columnOf[field]}`);
  return `${columns.join(", ")}, jobs.queue_id`;
}

/** Where the columns selected after `jobColumns` begin. */
export const jobWidth = fields.length + 1;

export type Row = SqlValue[];

/** Where the key of a record's queue is found. */
export type QueueContext = { sql: Connection; book: QueueKeys };

/** The record in a row that was selected with `jobColumns`. */
export function readJob(context: QueueContext, row: Row): JobRecord {
  const record: Record<string, unknown> = {};
  for (let index = 0; index < fields.length; index++) record[fields[index]!] = row[index];
  const job = record as JobRecord;
  job.queueKey = context.book.byId(row[fields.length] as number)?.key ?? "";
  job.attemptsChosen = record["attemptsChosen"] === 1;
  job.retryCounts = record["retryCounts"] === "{}" ? {} : (parsed(record["retryCounts"]) ?? {});
  job.failHistory = record["failHistory"] === "[]" ? [] : (parsed(record["failHistory"]) ?? []);
  return job;
}

const historyIndex = fields.indexOf("failHistory");

/** Whether `readJob` gives this row an empty history because the stored one cannot be read. */
export function isHistoryLost(row: Row): boolean {
  const text = row[historyIndex];
  return text !== "[]" && parsed(text) === null;
}

/** Null if it is not JSON: one damaged row must not stop acts that concern others, such as the reaper's. */
function parsed<T>(text: unknown): T | null {
  try {
    return JSON.parse(text as string) as T;
  } catch {
    return null;
  }
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

function toSql(value: JobRecord[Column]): SqlValue {
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
