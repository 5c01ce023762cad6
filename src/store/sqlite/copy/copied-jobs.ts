// Jobs as rows that are copied, and as this driver keeps them. Why: ADR 0086, ADR 0116.
import { createHash } from "node:crypto";
import { isActive, type JobRecord } from "../../../core/jobs/job.ts";
import type { CopyKey, CopyRow } from "../../database/database-copy.ts";
import { idOfHex } from "../../frames/job-line.ts";
import { columnOf } from "../../jobs/job-columns.ts";
import { isSealed, sealJob } from "../../jobs/job-seal.ts";
import { isHistoryLost, readRecord, recordFields } from "../../jobs/stored-record.ts";
import type { Connection, SqlValue } from "../database/connection.ts";
import { checkDocument } from "../jobs/check-document.ts";
import { insertRow } from "../jobs/flush-rows.ts";
import { idBytes, type JobEntry, type RowValues, rowColumns, rowOf } from "../jobs/job-entry.ts";
import type { Names } from "../jobs/names.ts";
import { readEntry, rowList } from "../jobs/read-row.ts";
import { keepTimeline } from "../log/event-frames.ts";
import type { ReadContext } from "../reads/read-context.ts";
import type { FrameWriter } from "./frame-writer.ts";

/** The line of a job whose seal does not hold names no job, so that it is not taken for what was accepted. */
export const noJob = "00000000-0000-0000-0000-000000000000";

type Target = { sql: Connection; macKey: Buffer; names: Names; frames: FrameWriter };

/** The record in a row that is copied. */
export function recordOfCopy(row: CopyRow, queueKey: string): JobRecord {
  return readRecord(valuesOf(row), queueKey);
}

function valuesOf(row: CopyRow): unknown[] {
  return recordFields.map((field) => row[columnOf[field]]);
}

/** Whether the seal of a copied job holds: its document and everything that decides who runs it. */
export function isCopySealed(macKey: Buffer, record: JobRecord, { document, mac }: CopyRow): boolean {
  return typeof document === "string" && mac instanceof Uint8Array && isSealed(macKey, record, document, mac);
}

export function writeJobs(target: Target, rows: CopyRow[]): void {
  for (const row of rows) {
    writeJob(target, row);
    if (target.frames.isFull) target.frames.end();
  }
  target.frames.end();
}

function writeJob(target: Target, row: CopyRow): void {
  const { sql, macKey, names, frames } = target;
  const queueId = row["queue_id"] as number;
  const copied = recordOfCopy(row, names.queueKey(queueId));
  const record = { ...copied, id: knownId(copied.id) };
  const line = isCopySealed(macKey, copied, row) ? record : damagedLine(record);
  const frame = frames.number;
  const place = frames.addJob(withSoundTimes(line), (row["document"] as string | null) ?? "");
  const receipt = record.receipt === null ? null : frames.addReceipt(record.receipt);
  const entry: JobEntry = {
    record,
    queueId,
    owner: names.ownerNumber(record),
    at: { frame, place },
    lineAt: null,
    receiptAt: receipt === null ? null : { frame, place: receipt },
    ready: readyIn(row),
    dueAt: row["due_at"] as number | null,
    eventFrames: takeEventFrames(sql, record.id),
    isStored: false,
    isStoredPlain: false,
    isGenuine: line === record,
    document: null,
  };
  const values = rowOf(entry, names.numberOf);
  if (isHistoryLost(valuesOf(row))) keepHistory(values, row["fail_history"] as string);
  insertRow(sql, entry, values);
  writeBeside(sql, row);
}

/** An id that is none was edited in. The job is still shown, under an id that follows from it. */
export function knownId(id: string): string {
  return idBytes(id) === null ? idOfHex(createHash("sha256").update(id).digest("hex").slice(0, 32)) : id;
}

/** The same for a hash. */
export function knownHash(text: string): string {
  return /^[0-9a-f]{64}$/.test(text) ? text : "0".repeat(64);
}

function damagedLine(record: JobRecord): JobRecord {
  return { ...record, id: noJob, documentSha256: knownHash(record.documentSha256) };
}

/** A time that no line can hold was edited in. It is in the row, where readers find it. */
function withSoundTimes(line: JobRecord): JobRecord {
  const { createdAt, runAt, queueTtlSec } = line;
  const ttl = queueTtlSec === null ? null : soundNumber(queueTtlSec);
  return { ...line, createdAt: soundNumber(createdAt), runAt: soundNumber(runAt), queueTtlSec: ttl };
}

export function soundNumber(value: number): number {
  return Number.isSafeInteger(value) && value >= 0 && value < 2 ** 48 ? value : 0;
}

function readyIn({ place, held_at }: CopyRow): JobEntry["ready"] {
  if (place === "held") return held_at === null ? 3 : 2;
  return place === "ready" ? 1 : place === "delayed" ? 0 : null;
}

/** A history that cannot be read is kept as it is, so that readers are still told. */
function keepHistory(values: RowValues, text: string): void {
  while (values.length < rowColumns.length) values.push(null);
  values[rowColumns.indexOf("fail_history")] = text;
}

function writeBeside(sql: Connection, row: CopyRow): void {
  const value = (column: string): SqlValue => row[column] as SqlValue;
  const seq = value("seq");
  if (row["is_key_chosen"] === 1)
    sql.run("INSERT INTO job_keys VALUES (?, ?, ?)", value("tenant_id"), value("idempotency_key"), seq);
  if (row["summary"] !== null) sql.run("INSERT INTO document_summaries VALUES (?, ?)", seq, value("summary"));
  const { output_sizes, output_bytes, output_dropped_through } = row;
  if (output_sizes !== null || output_bytes !== 0 || output_dropped_through !== 0)
    sql.run(
      "INSERT INTO job_outputs VALUES (?, ?, ?, ?)",
      seq,
      value("output_sizes"),
      value("output_bytes"),
      value("output_dropped_through"),
    );
}

/** As many as fit into a row: see `addEventFrame`. */
const framesMax = 40;

/** Where the events of a job are, as it was noted when they were written. */
function takeEventFrames(sql: Connection, id: string): string {
  const frames = sql
    .all<{ frame: number }>("DELETE FROM copied_events WHERE id = ? RETURNING frame", idBytes(id))
    .map(({ frame }) => frame)
    .sort((a, b) => a - b);
  for (; frames.length > framesMax; ) keepTimeline({ sql }, id, frames.splice(0, framesMax).join(","));
  return frames.join(",");
}

const besideList = `EXISTS (SELECT 1 FROM job_keys WHERE job_seq = jobs.seq), output_sizes, output_bytes,
  output_dropped_through, (SELECT summary FROM document_summaries WHERE job_seq = jobs.seq)`;
const selectText = `SELECT ${rowList}, ${besideList} FROM jobs LEFT JOIN job_outputs ON job_outputs.job_seq = jobs.seq
  WHERE jobs.seq > ? ORDER BY jobs.seq`;

/** In order. What a seal covers is sealed again, so that the rows are as another driver would have written them. */
export function* readJobs(context: ReadContext, after: CopyKey | null): Generator<CopyRow> {
  const rows = context.sql.rowStatement(selectText).iterate(after === null ? 0 : (after[0] as number));
  for (const row of rows as unknown as Iterable<RowValues>) yield readJob(context, row);
}

function readJob(context: ReadContext, row: RowValues): CopyRow {
  const [isKeyChosen, outputSizes, outputBytes, droppedThrough, summary] = row.slice(rowColumns.length);
  const { entry } = readEntry(context, row.slice(0, rowColumns.length));
  const { record, ready } = entry;
  const { state, document } = checkDocument(context, entry);
  return {
    ...columnsOf(record, row),
    queue_id: entry.queueId,
    place: placeOf(record.status, ready),
    due_at: entry.dueAt,
    is_key_chosen: isKeyChosen as number,
    document,
    // What does not match its frame must not match its seal.
    mac: state === "genuine" ? sealJob(context.macKey, record, document) : Buffer.alloc(32),
    summary: summary as string | null,
    output_sizes: outputSizes as string | null,
    output_bytes: (outputBytes as number | null) ?? 0,
    output_dropped_through: (droppedThrough as number | null) ?? 0,
  };
}

function columnsOf(record: JobRecord, row: RowValues): CopyRow {
  const copied: CopyRow = {};
  for (const field of recordFields) {
    const value = record[field];
    copied[columnOf[field]] =
      typeof value === "boolean"
        ? Number(value)
        : typeof value === "object" && value !== null
          ? JSON.stringify(value)
          : value;
  }
  copied["fail_history"] = (row[rowColumns.indexOf("fail_history")] as string | null) ?? "[]";
  return copied;
}

const waitingPlaces = ["delayed", "ready", "held", "held"] as const;

function placeOf(status: JobRecord["status"], ready: JobEntry["ready"]): string {
  if (ready !== null) return waitingPlaces[ready];
  return isActive(status) ? "active" : "ended";
}
