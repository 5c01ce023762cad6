import type { Connection, SqlValue } from "../database/connection.ts";
import { isDamage } from "../database/sqlite-error.ts";
import type { FrameReader } from "../frames/frame-reader.ts";
import type { JobEntry, RowValues } from "../jobs/job-entry.ts";
import { type RowNames, readEntry, rowList, rowStart } from "../jobs/read-row.ts";

type Sources = { sql: Connection; frames: FrameReader; names: RowNames };

/** `isCut`: most of its row cannot be read, because a page of it is broken. */
export type FoundJob = { entry: JobEntry; isHistoryLost: boolean; isCut: boolean };

/**
 * The job in the row with this key, or as much of it as a broken page has left; null if there is no such row, or nothing of it can be
 * read. Why: ADR 0029.
 */
export function findRow(context: Sources, column: "id" | "seq", key: SqlValue): FoundJob | null {
  const read = (columns: string): RowValues | undefined =>
    context.sql.rowStatement(`SELECT ${columns} FROM jobs WHERE ${column} = ?`).get(key) as
      | RowValues
      | undefined;
  try {
    const row = read(rowList);
    return row === undefined ? null : { ...readEntry(context, row), isCut: false };
  } catch (error) {
    if (!isDamage(error)) throw error;
  }
  try {
    const row = read(rowStart);
    return row === undefined ? null : { ...readEntry(context, row), isCut: true };
  } catch (error) {
    if (!isDamage(error)) throw error;
    return null;
  }
}
