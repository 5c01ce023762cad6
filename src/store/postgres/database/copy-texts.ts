// The SQL that reads and writes each part of a database when it is copied. Why: ADR 0086.
import { logText } from "../../database/copy-log.ts";
import type { CopyPart, CopyRow } from "../../database/database-copy.ts";
import { type ColumnKind, encodeColumn, rowsOf } from "../connection/columns.ts";
import { places, submittedColumns } from "../jobs/job-row.ts";
import type { Statement } from "../transaction/job-writes.ts";

/** Columns that are true or false here, and 1 or 0 in what is copied. */
const truths = new Set(["blocked", "draining", "is_key_chosen", "attempts_chosen"]);

/** A key of text has the order of its bytes, whatever the language of the database. */
const textKeys = new Set([
  ...[
    "tenant_id",
    "user_id",
    "worker_id",
    "order_id",
    "occurrence",
    "type",
    "secret_hash",
    "code_hash",
    "name",
    "subject",
    "audit",
  ],
]);
const textIds = new Set(["tenants", "workers", "objects", "receipt_signatures", "standing_orders"]);

const states = places.map((place) => `SELECT '${place}' AS place, * FROM ${place}`).join(" UNION ALL ");

const fromOf: Record<string, string> = {
  jobs: `jobs JOIN (${states}) AS s ON s.seq = jobs.seq LEFT JOIN job_outputs AS o ON o.seq = jobs.seq`,
  workers: "workers LEFT JOIN worker_counts AS c ON c.worker_id = workers.id",
};

const expressions: Record<string, Record<string, string>> = {
  workers: { completed: "coalesce(c.completed, 0)", failed: "coalesce(c.failed, 0)" },
  jobs: {
    output_sizes: "o.sizes",
    output_bytes: "coalesce(o.bytes, 0)",
    output_dropped_through: "coalesce(o.dropped_through, 0)",
  },
};

const jobsOnly = new Set([...submittedColumns, "queue_id", "is_key_chosen", "document", "mac", "summary"]);

function expressionOf({ name }: CopyPart, column: string): string {
  const table = name === "jobs" && !jobsOnly.has(column) ? "s" : name;
  const expression = expressions[name]?.[column] ?? `${table}.${column}`;
  return truths.has(column) ? `${expression}::int` : expression;
}

/** For a cursor. A key to continue after is given as parameters. */
export function selectText(part: CopyPart, isContinued: boolean): string {
  const { name, columns, key } = part;
  if (name === "events") return logText(part, isContinued ? "$1::bigint" : "0");
  const isText = (column: string): boolean => textKeys.has(column) || (column === "id" && textIds.has(name));
  const ordered = key.map((column) => `${expressionOf(part, column)}${isText(column) ? ' COLLATE "C"' : ""}`);
  const given = key.map((column, index) => `$${index + 1}::${isText(column) ? "text" : "bigint"}`);
  const condition = isContinued ? `WHERE (${ordered.join(", ")}) > (${given.join(", ")})` : "";
  const selected = columns.map((column) => `${expressionOf(part, column)} AS ${column}`).join(", ");
  return `SELECT ${selected} FROM ${fromOf[name] ?? name} ${condition} ORDER BY ${ordered.join(", ")}`;
}

/** A column of a table, as the server describes it. */
export type TableColumn = { name: string; kind: ColumnKind };

export const columnsText = `SELECT attname AS name,
    CASE WHEN t.typname IN ('int2', 'int4', 'int8') THEN 'bigint' WHEN t.typname = 'bool' THEN 'boolean'
      ELSE t.typname END AS kind
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`;

/** Writes many rows of a table, with all columns of it. */
export function insertRows(table: string, columns: TableColumn[], rows: CopyRow[]): Statement {
  const names = columns.map(({ name }) => name).join(", ");
  return {
    text: `INSERT INTO ${table} (${names}) OVERRIDING SYSTEM VALUE SELECT r.* FROM ${rowsOf(columns)}`,
    values: columns.map(({ name, kind }) => {
      const values = rows.map((row) => row[name]);
      return encodeColumn(kind, kind === "boolean" ? values.map((value) => value === 1) : values);
    }),
  };
}

type TableRows = { table: string; rows: CopyRow[] };

/** The rows of a page in the tables that they belong to. Hubs read again what has `changed` since version 0. */
export function tableRows({ name }: CopyPart, rows: CopyRow[]): TableRows[] {
  if (name === "jobs") return jobTables(rows);
  if (name === "events") {
    return [
      { table: name, rows: rows.filter(({ event }) => event !== null) },
      { table: "audit_seals", rows: rows.filter(({ hash }) => hash !== null) },
    ];
  }
  if (name === "workers") {
    const counts = rows.map(({ id, completed, failed }) => ({
      worker_id: id!,
      completed: completed!,
      failed: failed!,
    }));
    return [
      { table: name, rows },
      { table: "worker_counts", rows: counts },
    ];
  }
  const isShared = name === "queues" || name === "tenants";
  return [{ table: name, rows: isShared ? rows.map((row) => ({ ...row, changed: 1 })) : rows }];
}

function jobTables(rows: CopyRow[]): TableRows[] {
  const outputs = rows
    .map(({ seq, output_sizes, output_bytes, output_dropped_through }) => ({
      seq: seq!,
      sizes: output_sizes!,
      bytes: output_bytes!,
      dropped_through: output_dropped_through!,
    }))
    .filter(({ sizes, bytes, dropped_through }) => sizes !== null || bytes !== 0 || dropped_through !== 0);
  const states = rows.map((row) => ({ ...row, rank: -(row["priority"] as number) }));
  return [
    { table: "jobs", rows },
    ...places.map((place) => ({
      table: place,
      rows: states.filter((row: CopyRow) => row["place"] === place),
    })),
    { table: "job_outputs", rows: outputs },
  ];
}
