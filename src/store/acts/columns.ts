/** A row as a driver returns it: numbers are safe integers, and a flag is a boolean or, in SQLite, 0 or 1. */
export type SqlRow = Readonly<Record<string, unknown>>;

export type Reader<Row> = { read(row: SqlRow): Row };

/** A column of a table, or an expression, and how its value is read. */
type Column<T> = { readonly sql: string; read(value: unknown): T };

/**
 * The columns that make up a record, each under the name of its field. Both the list for SELECT and the reading of a row come
 * from this one table. Why: ADR 0111.
 */
export class Columns<Row extends object> implements Reader<Row> {
  /** For SELECT and RETURNING. */
  readonly list: string;
  readonly #columns: [field: string, column: Column<unknown>][];

  constructor(columns: { [Field in keyof Row]-?: Column<Row[Field]> }) {
    this.#columns = Object.entries<Column<unknown>>(columns);
    this.list = this.#columns.map(([field, { sql }]) => `${sql} AS "${field}"`).join(", ");
  }

  read(row: SqlRow): Row {
    return Object.fromEntries(
      this.#columns.map(([field, column]) => [field, column.read(row[field])]),
    ) as Row;
  }
}

/** A text; with a type of its own if the column holds only certain ones. */
export function text<T extends string = string>(sql: string): Column<T> {
  return { sql, read: (value) => checked(sql, "string", value) as T };
}

export function number(sql: string): Column<number> {
  return { sql, read: (value) => checked(sql, "number", value) as number };
}

export function flag(sql: string): Column<boolean> {
  return { sql, read: (value) => value === true || value === 1 };
}

/** A value that is stored as JSON text. */
export function json<T>(sql: string): Column<T> {
  return { sql, read: (value) => JSON.parse(checked(sql, "string", value) as string) as T };
}

export function nullable<T>({ sql, read }: Column<T>): Column<T | null> {
  return { sql, read: (value) => (value === null ? null : read(value)) };
}

function checked(sql: string, type: "string" | "number", value: unknown): unknown {
  if (typeof value !== type)
    throw new Error(
      `${sql} holds ${value === null ? "null" : `a ${typeof value}`}, and a ${type} was expected`,
    );
  return value;
}
