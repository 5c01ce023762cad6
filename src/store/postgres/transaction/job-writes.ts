// The statements that write the rows of jobs of a group, as columns. Why: ADR 0087, ADR 0091.
import type { JobRecord } from "../../../core/jobs/job.ts";
import { columnOf, numberFields, numberOrNullFields, type StoredField } from "../../jobs/job-columns.ts";
import { type ColumnKind, type ColumnValue, encodeColumn, rowsOf } from "../connection/columns.ts";
import type { SqlValue } from "../connection/connection.ts";
import { type Place, places, stateFields, submittedFields } from "../jobs/job-row.ts";

type Column<Row> = { name: string; kind: ColumnKind; of(row: Row): ColumnValue };
export type Statement = { text: string; values: SqlValue[] };

/** A state as it is written: the record, its queue, and when the hub must act on it. */
type StateWrite = { job: JobRecord; queueId: number; dueAt: number | null };

/** What is written of a new job, once. */
export type SubmittedJob = {
  job: JobRecord;
  queueId: number;
  isKeyChosen: boolean;
  document: string;
  mac: Buffer;
  summary: string | null;
};

const numbers = new Set<StoredField>([...numberFields, ...numberOrNullFields]);

function fieldColumn(field: StoredField): Column<{ job: JobRecord }> {
  const kind = numbers.has(field) ? "bigint" : field === "attemptsChosen" ? "boolean" : "text";
  return {
    name: columnOf[field],
    kind,
    of: ({ job }) => {
      const value = job[field];
      return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
    },
  };
}

const seqColumn = fieldColumn("seq");

const stateColumns: Column<StateWrite>[] = [
  { name: "queue_id", kind: "bigint", of: ({ queueId }) => queueId },
  { name: "rank", kind: "bigint", of: ({ job }) => -job.priority },
  { name: "due_at", kind: "bigint", of: ({ dueAt }) => dueAt },
  ...stateFields.map(fieldColumn),
];

const jobColumns: Column<SubmittedJob>[] = [
  ...submittedFields.map(fieldColumn),
  { name: "queue_id", kind: "bigint", of: ({ queueId }) => queueId },
  { name: "is_key_chosen", kind: "boolean", of: ({ isKeyChosen }) => isKeyChosen },
  { name: "document", kind: "text", of: ({ document }) => document },
  { name: "mac", kind: "bytea", of: ({ mac }) => mac },
  { name: "summary", kind: "text", of: ({ summary }) => summary },
];

export function insertJobs(jobs: SubmittedJob[]): Statement {
  return insertInto("jobs", jobColumns, jobs);
}

export function insertStates(place: Place, writes: StateWrite[]): Statement {
  return insertInto(place, [seqColumn, ...stateColumns], writes);
}

/** Every column, because one that was set may be empty now. */
export function updateStates(place: Place, writes: StateWrite[]): Statement {
  const columns = [seqColumn, ...stateColumns];
  return { text: updateText[place], values: columns.map((column) => encoded(column, writes)) };
}

export const deleteText = placeTexts((place) => `DELETE FROM ${place} WHERE seq = ANY ($1)`);

const updateText = placeTexts((place) => {
  const names = stateColumns.map(({ name }) => name);
  return `UPDATE ${place} s SET (${names.join(", ")}) = (${names.map((name) => `r.${name}`).join(", ")})
    FROM ${rowsOf([seqColumn, ...stateColumns])} WHERE s.seq = r.seq`;
});

function placeTexts(textOf: (place: Place) => string): Record<Place, string> {
  return Object.fromEntries(places.map((place) => [place, textOf(place)])) as Record<Place, string>;
}

/** Each act fills the same columns again and again; an act that fills other columns than the first hundred sends all of them. */
const shapesMax = 100;
const insertTexts = new Map<string, string>();

/** Without the columns that are empty in all rows. */
function insertInto<Row>(table: string, columns: Column<Row>[], rows: Row[]): Statement {
  const used = columns.filter((column) => rows.some((row) => column.of(row) != null));
  const name = shapeOf(table, used);
  if (insertTexts.has(name)) return insert(name, used, rows);
  if (insertTexts.size < shapesMax) {
    insertTexts.set(name, insertText(table, used));
    return insert(name, used, rows);
  }
  const full = shapeOf(table, columns);
  insertTexts.set(full, insertText(table, columns));
  return insert(full, columns, rows);
}

function insert<Row>(shape: string, columns: Column<Row>[], rows: Row[]): Statement {
  return { text: insertTexts.get(shape)!, values: columns.map((column) => encoded(column, rows)) };
}

function shapeOf(table: string, columns: { name: string }[]): string {
  return `${table}:${columns.map(({ name }) => name).join(",")}`;
}

function insertText(table: string, columns: Column<never>[]): string {
  return `INSERT INTO ${table} (${columns.map(({ name }) => name).join(", ")}) SELECT r.* FROM ${rowsOf(columns)}`;
}

function encoded<Row>({ kind, of }: Column<Row>, rows: Row[]): Buffer {
  return encodeColumn(kind, rows.map(of));
}
