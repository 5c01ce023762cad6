import type { Context } from "../context.ts";
import { idBytes, type JobEntry, type RowValues } from "./job-entry.ts";
import { readEntry, rowList } from "./read-row.ts";

type Sources = Pick<Context, "sql" | "jobs" | "frames" | "names">;

const bySeqText = `SELECT ${rowList} FROM jobs WHERE seq = ?`;
const byIdText = `SELECT ${rowList} FROM jobs WHERE id = ?`;

/** The job with this number, from memory or from its row. Why: ADR 0116. */
export function findEntry(context: Sources, seq: number): JobEntry | null {
  return context.jobs.get(seq) ?? readOne(context, bySeqText, seq);
}

export function findById(context: Sources, id: string): JobEntry | null {
  const known = context.jobs.find(id);
  if (known !== undefined) return known;
  const bytes = idBytes(id);
  return bytes === null ? null : readOne(context, byIdText, bytes);
}

/** The jobs that a condition selects. Rows that are not written yet have to be written before. */
export function selectEntries(
  context: Sources,
  condition: string,
  ...values: (number | string | null)[]
): JobEntry[] {
  const rows = context.sql.rowStatement(`SELECT ${rowList} FROM jobs ${condition}`).all(...values);
  return (rows as unknown as RowValues[]).map(
    (row) => context.jobs.get(row[0] as number) ?? readEntry(context, row).entry,
  );
}

function readOne(context: Sources, text: string, key: number | Buffer): JobEntry | null {
  const row = context.sql.rowStatement(text).get(key) as RowValues | undefined;
  return row === undefined ? null : readEntry(context, row).entry;
}
