import type { Connection, SqlValue } from "./connection.ts";

/** Rows can be large, and this many are held at once. */
const fetchRows = 200;

let cursors = 0;

/** The rows of a long answer, some at a time. A transaction must be open. Why: ADR 0086. */
export async function* readByCursor<Row>(
  sql: Connection,
  text: string,
  ...values: SqlValue[]
): AsyncGenerator<Row[]> {
  // A name of its own: the statement that fetches is prepared once, and has the columns of this answer.
  const name = `rows_${++cursors}`;
  await sql.run(`DECLARE ${name} NO SCROLL CURSOR FOR ${text}`, ...values);
  for (;;) {
    const rows = await sql.all<Row>(`FETCH ${fetchRows} FROM ${name}`);
    if (rows.length > 0) yield rows;
    if (rows.length < fetchRows) break;
  }
  await sql.run(`CLOSE ${name}`);
}
