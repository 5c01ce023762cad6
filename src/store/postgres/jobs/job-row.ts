// Rows of jobs: in which tables they are, and how they become records. Why: ADR 0080, ADR 0091.
import { isActive, type JobRecord } from "../../../core/jobs/job.ts";
import type { Readiness } from "../../../core/readiness/readiness.ts";
import { columnOf, type StoredField } from "../../jobs/job-columns.ts";
import { type RecordRow, readRecord, recordFields } from "../../jobs/stored-record.ts";
import type { KeptJob } from "../transaction/work.ts";

/** The tables that say how far a job is. */
export const places = ["active", "ready", "delayed", "held", "ended"] as const;
export type Place = (typeof places)[number];

/** What is written once, in `jobs`. */
export const submittedFields = [
  "seq",
  "id",
  "tenantId",
  "userId",
  "type",
  "priority",
  "documentSha256",
  "idempotencyKey",
  "requestHash",
  "maxAttempts",
  "attemptsChosen",
  "limitsDefaulted",
  "documentTimeoutSec",
  "terms",
] as const satisfies StoredField[];

type SubmittedField = (typeof submittedFields)[number];

export const stateFields = (Object.keys(columnOf) as StoredField[]).filter(
  (field) => !(submittedFields as readonly StoredField[]).includes(field),
) as Exclude<StoredField, SubmittedField>[];

/** Where they are in the row of a record. */
export const submittedIndexes = submittedFields.map((field) => recordFields.indexOf(field));

export const submittedColumns = submittedFields.map((field) => columnOf[field]);

/** For SELECT: a record, from `jobs` as j, a place as s and `queues` as q. */
export const recordColumns = recordColumnsWith({});

/** The same with expressions in place of some columns. */
export function recordColumnsWith(expressions: Partial<Record<StoredField, string>>): string {
  const submitted = new Set<StoredField>(submittedFields);
  const named = (field: StoredField) =>
    `${expressions[field] ?? `${submitted.has(field) ? "j" : "s"}.${columnOf[field]}`} AS ${columnOf[field]}`;
  return [...recordFields.map(named), "s.due_at", "j.queue_id", "q.key AS queue_key"].join(", ");
}

/** For SELECT: the row of a record without what was submitted, from a place as s; then, when the hub must act. */
export const stateOnlyColumns = [
  ...recordFields.map((field) =>
    field !== "seq" && (submittedFields as readonly StoredField[]).includes(field)
      ? "NULL"
      : `s.${columnOf[field]}`,
  ),
  "s.due_at",
].join(", ");

/** A record is read from the row of the job, that of its state and that of its queue. */
export function recordFrom(place: Place | "job_states"): string {
  return `jobs j JOIN ${place} s ON s.seq = j.seq LEFT JOIN queues q ON q.id = j.queue_id`;
}

/** Where the columns selected after `recordColumns` begin. */
export const recordWidth = recordFields.length + 3;

export const dueAtIndex = recordFields.length;
const queueIdIndex = dueAtIndex + 1;
const queueKeyIndex = dueAtIndex + 2;

/** The record in a row that was selected with `recordColumns`. */
export function readJob(row: RecordRow): JobRecord {
  return readRecord(row, (row[queueKeyIndex] as string | null) ?? "");
}

/** The same, if it was selected from this place, with what is stored beside the record. */
export function readKept(row: RecordRow, place: Place): KeptJob {
  const dueAt = row[dueAtIndex] as number | null;
  return { job: readJob(row), place, queueId: row[queueIdIndex] as number, dueAt };
}

/** Where a job is kept that is so. */
export function placeOf(job: JobRecord, readiness: Readiness): Place {
  if (readiness === "now") return "ready";
  if (readiness === "later") return "delayed";
  if (readiness === "held") return "held";
  return isActive(job.status) ? "active" : "ended";
}
