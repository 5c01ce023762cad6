import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

/** A refusal may leave an event behind, with what the hub makes of events by itself, and nothing else. */
const notState = `name NOT LIKE 'sqlite_%'
  AND name NOT IN ('events', 'audit_seals', 'audit_marks', 'log_readers', 'outbox', 'watched')`;

/** One hash over every table but the event log, read by a second connection: equal hashes, nothing has changed. */
export function snapshot(home: string): string {
  const reader = snapshots.get(home) ?? { database: openDatabase(home, true), dataVersion: -1, hash: "" };
  snapshots.set(home, reader);
  const dataVersion = dataVersionOf(reader.database);
  if (reader.dataVersion !== dataVersion) {
    reader.dataVersion = dataVersion;
    reader.hash = hashOf(reader.database);
  }
  return reader.hash;
}

/** Who reads a home for snapshots, and what it found last: most refusals commit nothing, so that nothing is read. */
const snapshots = new Map<string, { database: DatabaseSync; dataVersion: number; hash: string }>();

/** Another number than before when another connection has committed something in between. */
function dataVersionOf(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA data_version").get()?.["data_version"]);
}

function hashOf(database: DatabaseSync): string {
  const hash = createHash("sha256");
  const tables = database
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND ${notState} ORDER BY name`)
    .all() as { name: string }[];
  for (const { name } of tables) {
    const rows = database.prepare(`SELECT * FROM "${name}"`).all();
    const texts = rows.map((row) => stateOf(name, row)).filter((text) => text !== "");
    for (const text of texts.sort()) hash.update(`${name} ${text}\n`);
  }
  return hash.digest("hex");
}

/** A row as text, without what counts events, and without the sizes of outputs, which the hub notes when it likes. */
function stateOf(table: string, row: Record<string, unknown>): string {
  if (table === "tallies" && (row["name"] === "event_seq" || row["name"] === "output_bytes")) return "";
  const { event_count: _, output_sizes: _sizes, output_bytes: _bytes, ...state } = row;
  return JSON.stringify(state);
}

export type StoredEvent = {
  seq: number;
  event: string;
  tenant_id: string | null;
  job_id: string | null;
  owner_id: string | null;
  details: Record<string, unknown>;
  origin: { userId: string | null; ipAddress: string; endpoint: string; method: string } | null;
};

/** The event log as it lies on the disk, after a place in it. */
export function readEvents(home: string, afterSeq = 0): StoredEvent[] {
  const rows = withDatabase(home, (database) =>
    database.prepare("SELECT * FROM events WHERE seq > ? ORDER BY seq").all(afterSeq),
  );
  return rows.map((row) => ({
    ...(row as unknown as StoredEvent),
    details: JSON.parse(String(row["details"])),
    origin: row["origin"] === null ? null : JSON.parse(String(row["origin"])),
  }));
}

export function lastSeq(home: string): number {
  return withDatabase(home, (database) =>
    Number(database.prepare("SELECT max(seq) AS seq FROM events").get()?.["seq"] ?? 0),
  );
}

/** What a second connection reads. */
export function readRows(home: string, sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
  return withDatabase(home, (database) => database.prepare(sql).all(...values));
}

/** What somebody can do who reaches the database and not the hub's keys. Answers with how many rows it changed. */
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
  return new DatabaseSync(join(home, "writ.sqlite"), { readOnly, timeout: 5_000 });
}
