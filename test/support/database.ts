import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { Connection } from "../../src/store/sqlite/database/connection.ts";
import { postgresTamper } from "../store-contract/postgres-tamper.ts";
import type { Tamper } from "../store-contract/under-test.ts";
import { databaseUrlOf } from "./home-database.ts";
import { postgresSnapshot } from "./postgres-snapshot.ts";
import { querySync } from "./query-sync.ts";
import { framedEvents, framedStatuses, tamperWithFrames, withWrittenRows } from "./sqlite-database.ts";

/** A refusal may leave an event behind, with what the hub makes of events by itself, and nothing else. */
const notState = `name NOT LIKE 'sqlite_%'
  AND name NOT IN ('events', 'audit_seals', 'audit_marks', 'log_readers', 'outbox', 'watched', 'statistics')
  AND name NOT IN ('frames', 'payloads', 'timelines', 'traits', 'frame_traits')`;

/** One hash over every table but the event log, read by a second connection: equal hashes, nothing has changed. */
export function snapshot(home: string): string {
  const url = databaseUrlOf(home);
  if (url !== null) return postgresSnapshot(url);
  const reader = snapshots.get(home) ?? { database: openDatabase(home, true), dataVersion: -1, hash: "" };
  snapshots.set(home, reader);
  const dataVersion = dataVersionOf(reader.database);
  if (reader.dataVersion !== dataVersion) {
    reader.dataVersion = dataVersion;
    reader.hash = withWrittenRows(home, hashOf);
  }
  return reader.hash;
}

/**
 * The reader of a home for snapshots, and what it found last: most refusals commit nothing, so that nothing is read.
 */
const snapshots = new Map<string, { database: DatabaseSync; dataVersion: number; hash: string }>();

/** Another number than before when another connection has committed something in between. */
function dataVersionOf(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA data_version").get()?.["data_version"]);
}

function hashOf(database: Connection): string {
  const hash = createHash("sha256");
  const tables = database.all<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND ${notState} ORDER BY name`,
  );
  for (const { name } of tables) {
    const rows = database.all<Record<string, unknown>>(`SELECT * FROM "${name}"`);
    const texts = rows.map((row) => stateOf(name, row)).filter((text) => text !== "");
    for (const text of texts.sort()) hash.update(`${name} ${text}\n`);
  }
  return hash.digest("hex");
}

const notStateTallies = ["event_seq", "output_bytes", "flushed_frame"];

/** A row as text, without what counts events, and without the sizes of outputs, which the hub notes when it likes. */
function stateOf(table: string, row: Record<string, unknown>): string {
  if (table === "tallies" && notStateTallies.includes(String(row["name"]))) return "";
  const { event_count: _, event_frames: _frames, output_sizes: _sizes, output_bytes: _bytes, ...state } = row;
  return JSON.stringify(state);
}

export type StoredEvent = {
  seq: number;
  ts: number;
  event: string;
  tenant_id: string | null;
  job_id: string | null;
  owner_id: string | null;
  job_seq: number | null;
  details: Record<string, unknown>;
  origin: { userId: string | null; ipAddress: string; endpoint: string; method: string } | null;
};

/** The event log as it lies on the disk, after a place in it. */
export function readEvents(home: string, afterSeq = 0): StoredEvent[] {
  const url = databaseUrlOf(home);
  if (url === null) return framedEvents(home, afterSeq);
  const { rows } = querySync(url, "SELECT * FROM events WHERE seq > $1 ORDER BY seq", [afterSeq]);
  return rows.map((row) => ({
    ...(row as unknown as StoredEvent),
    details: JSON.parse(String(row["details"])),
    origin: row["origin"] === null ? null : JSON.parse(String(row["origin"])),
  }));
}

export function lastSeq(home: string): number {
  const url = databaseUrlOf(home);
  const rows =
    url === null
      ? readRows(home, "SELECT max(last_event) AS seq FROM frames")
      : querySync(url, "SELECT max(seq) AS seq FROM events", []).rows;
  return Number(rows[0]?.["seq"] ?? 0);
}

/** The status of every job, by its id. */
export function readStatuses(home: string): Map<string, string> {
  const url = databaseUrlOf(home);
  if (url === null) return framedStatuses(home);
  const { rows } = querySync(url, "SELECT id, status FROM jobs JOIN job_states USING (seq)", []);
  return new Map(rows.map(({ id, status }) => [String(id), String(status)]));
}

/** What somebody can do who reaches the database and not the hub's keys. */
export function tamperWith(home: string): Tamper {
  const url = databaseUrlOf(home);
  return url === null ? tamperWithFrames(home) : postgresTamper(async () => url);
}

/** What a second connection reads from a file of SQLite. */
export function readRows(home: string, sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
  return withDatabase(home, (database) => database.prepare(sql).all(...values));
}

/** Changes rows of a file of SQLite on a second connection. Answers with how many rows it changed. */
export function editRows(home: string, sql: string, ...values: SQLInputValue[]): number {
  const edit = (database: DatabaseSync) => Number(database.prepare(sql).run(...values).changes);
  return withDatabase(home, edit, { readOnly: false });
}

function withDatabase<T>(
  home: string,
  act: (database: DatabaseSync) => T,
  { readOnly = true }: { readOnly?: boolean } = {},
): T {
  const database = openDatabase(home, readOnly);
  try {
    return act(database);
  } finally {
    database.close();
  }
}

function openDatabase(home: string, readOnly: boolean): DatabaseSync {
  return new DatabaseSync(pathOf(home), { readOnly, timeout: 5_000 });
}

function pathOf(home: string): string {
  return join(home, "writ.sqlite");
}
