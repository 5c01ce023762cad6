import { DatabaseSync } from "node:sqlite";
import { type JobState, jobStates } from "../../src/core/jobs/job.ts";
import { ByteReader } from "../../src/store/frames/byte-reader.ts";
import { ByteWriter } from "../../src/store/frames/byte-writer.ts";
import { isSharing, listedEntries, type PayloadName } from "../../src/store/frames/frame.ts";
import { readJobLine, writeJobLine } from "../../src/store/frames/job-line.ts";
import { readSharedTexts, SharedTexts } from "../../src/store/frames/shared-texts.ts";
import { Connection, type SqlValue } from "../../src/store/sqlite/database/connection.ts";
import { Database } from "../../src/store/sqlite/database/database.ts";
import { readFrameHead, readPayload, replacePayload } from "../../src/store/sqlite/frames/frame-rows.ts";
import { idBytes, packHash } from "../../src/store/sqlite/jobs/job-entry.ts";
import { sqliteDriver } from "../../src/store/sqlite/sqlite-driver.ts";
import { commitGroup } from "../../src/store/sqlite/thread/group-commit.ts";
import { macKey } from "./scene.ts";
import type { ReceiptEdit, Tamper } from "./under-test.ts";

type Place = { frame: number; place: number };
type Row = Place & { seq: number };

/** What somebody with access to the file could do to rows and frames, on a connection of their own. */
export function sqliteTamper(path: string, key: Buffer = macKey): Tamper {
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
        // Its hash is in the head, which no edit leaves genuine: what can be edited is the document that has it.
        else if (field === "documentSha256")
          editEntry(sql, rowOf(sql, jobId), "documents", (document) =>
            Buffer.concat([document.subarray(1), document.subarray(0, 1)]),
          );
        // Everything else is only in the line.
        else
          editEntry(sql, rowOf(sql, jobId), "jobs", (line, texts) =>
            encoded((bytes) =>
              writeJobLine(bytes, sharing(texts), { ...readJobLine(line, texts)!, [field]: value }),
            ),
          );
      }),
    editText: (jobId, field, text) => edit((sql) => setColumn(sql, jobId, columnOf(field), text)),
    editEnd: (jobId, end) =>
      edit((sql) => {
        for (const [field, value] of Object.entries(end)) {
          const stored = field === "status" ? jobStates.indexOf(value as JobState) : value;
          setColumn(sql, jobId, columnOf(field), field === "resultHash" ? packHash(String(value)) : stored);
        }
      }),
    moveJob: (jobId, toQueueOf) =>
      edit((sql) => {
        const { queue } = sql.first<{ queue: number }>(
          "SELECT queue_id AS queue FROM jobs WHERE id = ?",
          idBytes(toQueueOf),
        )!;
        setColumn(sql, jobId, "queue_id", queue);
      }),
    editDocument: (jobId, document) =>
      edit((sql) => editEntry(sql, rowOf(sql, jobId), "documents", () => Buffer.from(document))),
    editInDocument: (jobId, from, to) =>
      edit((sql) =>
        editEntry(sql, rowOf(sql, jobId), "documents", (document) => {
          if (!document.includes(from)) throw new Error(`the document of ${jobId} does not contain ${from}`);
          return Buffer.from(document.toString().replaceAll(from, to));
        }),
      ),
    removeDocument: (jobId) => edit((sql) => editEntry(sql, rowOf(sql, jobId), "documents", zeros)),
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
        const { frame, place } = eventAt(sql, seq);
        const number = detailsOf(sql, { frame, place });
        editEntry(sql, { frame, place: -1 }, "events", (_bytes, texts) =>
          encoded((bytes) => sharing(texts.with(number, details)).writeTo(bytes)),
        );
      }),
    removeEvent: (seq) => edit((sql) => editEntry(sql, eventAt(sql, seq), "events", zeros)),
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
export function writeRows(path: string, key: Buffer): void {
  const settings = { path, macKey: key, busyTimeoutMs: 5_000, failpointModule: null };
  const database = new Database(sqliteDriver, settings, () => {});
  commitGroup(database, [{ id: 1, act: "flushIndex", input: null }]);
  database.close();
}

function rowOf(sql: Connection, jobId: string): Row {
  return sql.first<Row>("SELECT seq, frame, place FROM jobs WHERE id = ?", idBytes(jobId))!;
}

function setColumn(sql: Connection, jobId: string, column: string, value: SqlValue): void {
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

/** The edit is given the bytes of the entry, and the texts that entries of its payload share. -1 is the place of those. */
function editEntry(
  sql: Connection,
  { frame, place }: Place,
  name: PayloadName,
  edit: (bytes: Buffer, texts: string[]) => Buffer,
): void {
  const { starts } = listedEntries(readFrameHead(sql, frame)!, name);
  const bytes = readPayload(sql, frame, name)!;
  const index = place === -1 ? starts.length - 2 : place;
  const [start, end] = [starts[index]!, starts[index + 1]!];
  const texts = isSharing(name) ? readSharedTexts(bytes.subarray(starts.at(-2))) : [];
  const edited = edit(bytes.subarray(start, end), texts);
  replacePayload(sql, frame, name, Buffer.concat([bytes.subarray(0, start), edited, bytes.subarray(end)]));
}

const zeros = (bytes: Buffer): Buffer => Buffer.alloc(bytes.length);

function encoded(write: (bytes: ByteWriter) => void): Buffer {
  const bytes = new ByteWriter();
  write(bytes);
  return bytes.take();
}

function sharing(all: readonly string[]): SharedTexts {
  const texts = new SharedTexts();
  for (const text of all) texts.numberOf(text);
  return texts;
}

/** Which of the shared texts has the details of an event. */
function detailsOf(sql: Connection, { frame, place }: Place): number {
  const { starts } = listedEntries(readFrameHead(sql, frame)!, "events");
  const entry = new ByteReader(readPayload(sql, frame, "events")!.subarray(starts[place]));
  entry.varint();
  return entry.varint();
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
  else if ("document" in edit) editEntry(sql, kept, "documents", () => Buffer.from(edit.document));
  else if ("routing" in edit) editEntry(sql, line, "jobs", () => Buffer.from(edit.routing));
  else {
    const head = Buffer.from(readFrameHead(sql, kept.frame)!);
    Buffer.from(edit.mac).copy(head, head.length - edit.mac.length);
    sql.run("UPDATE frames SET head = ? WHERE number = ?", head, kept.frame);
  }
}

function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function withDatabase(path: string, use: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    use(database);
  } finally {
    database.close();
  }
}
