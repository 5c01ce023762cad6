import type { Reader, SqlRow } from "./columns.ts";

/** A list is for `= ANY (?)`. */
export type SqlValue = string | number | boolean | null | readonly string[];

/** A statement whose answer an act waits for. */
export type Query = { wants: "rows" | "count"; text: string; values: readonly SqlValue[] };

/** Work that only the driver can do, such as a change of jobs. */
export type DriverWork = { wants: "work"; work(): void | Promise<void> };

/** The rows that the statement returned, or how many it changed. */
export type Answer = { rows: SqlRow[]; count: number };

/**
 * An act that is written once for all drivers. It yields its statements: SQLite answers each at once, PostgreSQL after a wait.
 * If a statement fails, the act ends there and its transaction is rolled back.
 *
 * A text is SQL that both databases read, with `?` or `?1` for values and with PostgreSQL's names for what differs: `= ANY (?)`
 * for a list, `FOR UPDATE` for a lock, which SQLite needs none of, and `number` for the order in which rows were inserted.
 * Why: ADR 0111.
 */
export type Act<T> = Generator<Query | DriverWork, T, Answer>;

export function* all<Row>(reader: Reader<Row>, text: string, ...values: SqlValue[]): Act<Row[]> {
  const { rows } = yield { wants: "rows", text, values };
  return rows.map((row) => reader.read(row));
}

export function* first<Row>(reader: Reader<Row>, text: string, ...values: SqlValue[]): Act<Row | null> {
  const { rows } = yield { wants: "rows", text, values };
  return rows[0] === undefined ? null : reader.read(rows[0]);
}

/** Whether there is such a row. */
export function* exists(text: string, ...values: SqlValue[]): Act<boolean> {
  return (yield { wants: "rows", text, values }).rows.length > 0;
}

/** How many rows the statement changed. */
export function* run(text: string, ...values: SqlValue[]): Act<number> {
  return (yield { wants: "count", text, values }).count;
}

export function* doWork(work: () => void | Promise<void>): Act<void> {
  yield { wants: "work", work };
}
