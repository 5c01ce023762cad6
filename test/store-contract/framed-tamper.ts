import { framedDriver } from "../../src/store/framed/framed-driver.ts";
import { readFrameHead, readPayload, replacePayload } from "../../src/store/framed/frames/frame-rows.ts";
import { idBytes } from "../../src/store/framed/jobs/job-entry.ts";
import { listedEntries, type PayloadName } from "../../src/store/frames/frame.ts";
import { lineColumns } from "../../src/store/frames/job-line.ts";
import { Connection } from "../../src/store/sqlite/database/connection.ts";
import { Database } from "../../src/store/sqlite/database/database.ts";
import { commitGroup } from "../../src/store/sqlite/thread/group-commit.ts";
import { macKey } from "./scene.ts";
import type { ReceiptEdit, Tamper } from "./under-test.ts";

type Place = { frame: number; place: number };
type Row = Place & { seq: number };

/** What somebody with access to the file could do to rows and frames, on a connection of their own. */
export function framedTamper(path: string, key: Buffer = macKey): Tamper {
  const edit = async (act: (sql: Connection) => void): Promise<void> => {
    writeRows(path, key);
    const sql = new Connection(path, 5_000);
    try {
      act(sql);
    } finally {
      sql.close();
    }
  };
  return {
    editJob: (jobId, field, value) =>
      edit((sql) => {
        if (field === "priority") setColumn(sql, jobId, "priority", value as number);
        else if (field === "tenantId" || field === "userId") giveAway(sql, jobId, field, String(value));
        // Everything else is only in the line.
        else
          editEntry(sql, rowOf(sql, jobId), "jobs", (line) => {
            const values = JSON.parse(line);
            values[lineColumns.indexOf(field)] = value;
            return JSON.stringify(values);
          });
      }),
    editText: (jobId, field, text) => edit((sql) => setColumn(sql, jobId, columnOf(field), text)),
    moveJob: (jobId, toQueueOf) =>
      edit((sql) => {
        const { queue } = sql.first<{ queue: number }>(
          "SELECT queue_id AS queue FROM jobs WHERE id = ?",
          idBytes(toQueueOf),
        )!;
        setColumn(sql, jobId, "queue_id", queue);
      }),
    editDocument: (jobId, document) =>
      edit((sql) => editEntry(sql, rowOf(sql, jobId), "documents", () => document)),
    editInDocument: (jobId, from, to) =>
      edit((sql) =>
        editEntry(sql, rowOf(sql, jobId), "documents", (document) => {
          if (!document.includes(from)) throw new Error(`the document of ${jobId} does not contain ${from}`);
          return document.replaceAll(from, to);
        }),
      ),
    removeDocument: (jobId) =>
      edit((sql) =>
        editEntry(sql, rowOf(sql, jobId), "documents", (document) =>
          "\0".repeat(Buffer.byteLength(document)),
        ),
      ),
    swapDocuments: (jobId, otherId) =>
      edit((sql) => {
        const [one, other] = [rowOf(sql, jobId), rowOf(sql, otherId)];
        const put = "UPDATE jobs SET frame = ?, place = ? WHERE seq = ?";
        sql.run(put, other.frame, other.place, one.seq);
        sql.run(put, one.frame, one.place, other.seq);
      }),
    editReceipt: (jobId, change) => edit((sql) => editReceipt(sql, jobId, change)),
    editEvent: (seq, details) =>
      edit((sql) => {
        editEntry(sql, eventAt(sql, seq), "events", (record) =>
          record.replace(/"details":\{.*\},"event"/, () => `"details":${details},"event"`),
        );
      }),
    removeEvent: (seq) =>
      edit((sql) =>
        editEntry(sql, eventAt(sql, seq), "events", (record) => "\0".repeat(Buffer.byteLength(record))),
      ),
    removeSeals: null,
    dropOutput: (jobId) =>
      edit((sql) =>
        sql.run(
          `INSERT INTO job_outputs (job_seq, output_dropped_through) SELECT seq, attempt FROM jobs WHERE id = ?
            ON CONFLICT DO UPDATE SET output_bytes = 0, output_dropped_through = excluded.output_dropped_through`,
          idBytes(jobId),
        ),
      ),
  };
}

/** Somebody who edits rows finds all of them, because they are written within a moment. */
function writeRows(path: string, key: Buffer): void {
  const settings = { path, macKey: key, busyTimeoutMs: 5_000, failpointModule: null };
  const database = new Database(framedDriver, settings, () => {});
  commitGroup(database, [{ id: 1, act: "flushIndex", input: null }]);
  database.close();
}

function rowOf(sql: Connection, jobId: string): Row {
  return sql.first<Row>("SELECT seq, frame, place FROM jobs WHERE id = ?", idBytes(jobId))!;
}

function setColumn(sql: Connection, jobId: string, column: string, value: string | number): void {
  sql.run(`UPDATE jobs SET ${column} = ? WHERE id = ?`, value, idBytes(jobId));
}

function giveAway(sql: Connection, jobId: string, field: "tenantId" | "userId", to: string): void {
  const owner = sql.first<{ tenantId: string; userId: string }>(
    `SELECT tenant_id AS tenantId, user_id AS userId FROM owners JOIN jobs ON jobs.owner = owners.number WHERE id = ?`,
    idBytes(jobId),
  )!;
  const { tenantId, userId } = field === "tenantId" ? { ...owner, tenantId: to } : { ...owner, userId: to };
  const { number } = sql.first<{ number: number }>(
    "INSERT INTO owners (tenant_id, user_id) VALUES (?, ?) RETURNING number",
    tenantId,
    userId,
  )!;
  setColumn(sql, jobId, "owner", number);
}

function editEntry(
  sql: Connection,
  { frame, place }: Place,
  name: PayloadName,
  edit: (text: string) => string,
): void {
  const { starts } = listedEntries(readFrameHead(sql, frame)!, name);
  const bytes = readPayload(sql, frame, name)!;
  const [start, end] = [starts[place]!, starts[place + 1]!];
  const text = edit(bytes.toString("utf8", start, end));
  replacePayload(
    sql,
    frame,
    name,
    Buffer.concat([bytes.subarray(0, start), Buffer.from(text), bytes.subarray(end)]),
  );
}

function eventAt(sql: Connection, seq: number): Place {
  const { number, first } = sql.first<{ number: number; first: number }>(
    "SELECT number, first_event AS first FROM frames WHERE first_event <= ?1 AND last_event >= ?1",
    seq,
  )!;
  return { frame: number, place: seq - first };
}

function editReceipt(sql: Connection, jobId: string, edit: ReceiptEdit): void {
  const kept = sql.first<Place & { line_frame: number; line_place: number }>(
    "SELECT frame, place, line_frame, line_place FROM kept_receipts WHERE id = ?",
    idBytes(jobId),
  )!;
  const line = { frame: kept.line_frame, place: kept.line_place };
  if ("jobId" in edit)
    sql.run("UPDATE kept_receipts SET id = ? WHERE id = ?", idBytes(edit.jobId), idBytes(jobId));
  else if ("document" in edit) editEntry(sql, kept, "documents", () => edit.document);
  else if ("routing" in edit) editEntry(sql, line, "jobs", () => edit.routing);
  else {
    const head = Buffer.from(readFrameHead(sql, kept.frame)!);
    Buffer.from(edit.mac).copy(head, head.length - edit.mac.length);
    sql.run("UPDATE frames SET head = ? WHERE number = ?", head, kept.frame);
  }
}

function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
