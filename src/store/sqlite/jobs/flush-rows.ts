import { writeBook } from "../claims/queue-rows.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../database/connection.ts";
import { indexFrame } from "../frames/event-index.ts";
import { foldFrames } from "../frames/fold-frames.ts";
import { removePayload } from "../frames/frame-rows.ts";
import {
  fixedColumns,
  idBytes,
  isNew,
  type JobEntry,
  newColumns,
  packHash,
  plainColumns,
  type RowValues,
  rowColumns,
  rowOf,
} from "./job-entry.ts";

const marks = (count: number): string => Array.from({ length: count }, () => "?").join(", ");

/** Three widths of each, because binding a value costs more than storing it. */
const insertText = (columns: number): string =>
  `INSERT INTO jobs (${rowColumns.slice(0, columns).join(", ")}) VALUES (${marks(columns)})`;
/** The columns that never change are not named, so that their indexes are left alone. */
const updateText = (columns: number): string =>
  `UPDATE jobs SET ${rowColumns
    .slice(fixedColumns, columns)
    .map((column) => `${column} = ?`)
    .join(", ")} WHERE seq = ?`;
const inserts = new Map(
  [newColumns, plainColumns, rowColumns.length].map((width) => [width, insertText(width)]),
);
const updates = new Map([plainColumns, rowColumns.length].map((width) => [width, updateText(width)]));

/**
 * Writes the rows of all jobs that have changed, once each, with everything that is counted. From now on a replay begins after the
 * frame of this group, and the changes in earlier frames are of no use. Why: ADR 0116.
 */
export function flushRows(context: Context): void {
  const { sql, frame, tallies } = context;
  writeRows(context);
  writeBook(context);
  context.workers.flush(sql);
  context.owners.flush(sql);
  const first = tallies.get("flushed_frame") + 1;
  const last = frame.number - 1;
  for (let number = first; number <= last; number++) {
    removePayload(sql, number, "changes");
    indexFrame(sql, number);
  }
  tallies.add("flushed_frame", last + 1 - first);
  foldFrames(context, numbersFrom(first - 1, last));
  tallies.flush(sql);
  context.mustFlush = false;
}

function* numbersFrom(first: number, last: number): Generator<number> {
  for (let number = first; number <= last; number++) yield number;
}

/** Writes the rows in the middle of a group, for a statement that looks for them. The group then ends with all of it. */
export function writeRowsNow(context: Context): void {
  if (context.jobs.dirtyCount === 0) return;
  writeRows(context);
  context.mustFlush = true;
}

function writeRows({ sql, jobs, names }: Context): void {
  for (const entry of jobs.dirty()) {
    const row = rowOf(entry, names.numberOf);
    if (entry.isStored) updateRow(sql, entry, row);
    else insertRow(sql, entry, row);
  }
  jobs.written();
}

function updateRow(sql: Connection, { record, isStoredPlain }: JobEntry, row: RowValues): void {
  packHashes(row);
  const width = row.length === plainColumns && !isStoredPlain ? rowColumns.length : row.length;
  while (row.length < width) row.push(null);
  sql.run(updates.get(width)!, ...row.slice(fixedColumns), record.seq);
}

/** Ids and hashes become bytes, and what is empty at the end is left out. */
export function insertRow(sql: Connection, { record }: JobEntry, row: RowValues): void {
  row[idAt] = idBytes(record.id);
  if (isNew(record) && row.length === plainColumns) row.length = newColumns;
  else packHashes(row);
  sql.run(inserts.get(row.length)!, ...row);
}

const idAt = rowColumns.indexOf("id");
const tokenAt = rowColumns.indexOf("lease_token");
const resultHashAt = rowColumns.indexOf("result_hash");

/** Once: a hash that is bytes already stays. */
function packHashes(row: RowValues): void {
  for (const index of [tokenAt, resultHashAt])
    if (typeof row[index] === "string") row[index] = packHash(row[index]);
}
