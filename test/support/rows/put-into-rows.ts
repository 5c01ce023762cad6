import { renameSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { readMacKey } from "../../../src/signing/key-files.ts";
import { type CopyPart, type CopyRow, copyParts } from "../../../src/store/database/database-copy.ts";
import { newestSchema, readSteps } from "../../../src/store/database/schema-steps.ts";
import { openFileCopy } from "../../../src/store/sqlite/copy/open-copy.ts";

/** Makes the database of a stopped hub one of rows, with the newest schema that files of rows had. */
export async function putIntoRows(home: string): Promise<void> {
  const path = join(home, "writ.sqlite");
  const source = await openFileCopy(path, { isTarget: false, macKey: readMacKey(join(home, "keys")) });
  const rows = new DatabaseSync(`${path}.rows`);
  const steps = readSteps(new URL("./", import.meta.url));
  rows.exec(`PRAGMA journal_mode = WAL; BEGIN; ${steps.map(({ sql }) => sql).join("\n")}`);
  rows.exec(`PRAGMA user_version = ${newestSchema(steps)}`);
  for (const part of copyParts)
    for await (const page of source.readRows(part, null)) for (const row of page) insertRow(rows, part, row);
  const { states, ...numbers } = await source.getNumbers();
  const tallies = {
    job_seq: numbers.jobSeq,
    event_seq: numbers.eventSeq,
    turn: numbers.turn,
    output_bytes: numbers.outputBytes,
    unchecked_hash_seq: numbers.uncheckedHashSeq,
    ...Object.fromEntries(Object.entries(states).map(([state, count]) => [`jobs.${state}`, count])),
  };
  for (const [name, value] of Object.entries(tallies))
    rows.prepare("INSERT OR REPLACE INTO tallies (name, value) VALUES (?, ?)").run(name, value);
  const { id, keyCheck } = (await source.getIdentity())!;
  rows.prepare("INSERT INTO database_identity (id, key_check) VALUES (?, ?)").run(id, keyCheck);
  rows.exec("COMMIT");
  await source.close();
  rows.close();
  renameSync(`${path}.rows`, path);
}

/** What jobs have got since, no row has. */
function jobColumnsOf(rows: DatabaseSync): string[] {
  return rows
    .prepare("SELECT name FROM pragma_table_info('jobs')")
    .all()
    .map(({ name }) => String(name));
}

const eventColumns = "seq ts event tenant_id job_id owner_id job_seq details origin".split(" ");

/** A job is in three tables here, and a record of the log in two. */
function insertRow(rows: DatabaseSync, { name, columns }: CopyPart, row: CopyRow): void {
  const insert = (table: string, values: Record<string, SQLInputValue>): void => {
    const names = Object.keys(values);
    rows
      .prepare(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`)
      .run(...Object.values(values));
  };
  const only = (names: readonly string[]): Record<string, SQLInputValue> =>
    Object.fromEntries(names.map((column) => [column, row[column] ?? null]));
  if (name === "jobs") {
    const { seq, document, mac, summary, place } = row as Record<string, SQLInputValue>;
    const ready = place === "ready" ? 1 : place === "delayed" ? 0 : null;
    insert("jobs", { ...only(jobColumnsOf(rows)), ready });
    if (document !== null) insert("documents", { job_seq: seq!, document: document!, mac: mac! });
    if (summary !== null) insert("document_summaries", { job_seq: seq!, summary: summary! });
  } else if (name === "events") {
    if (row["event"] !== null) insert("events", only(eventColumns));
    if (row["hash"] !== null) insert("audit_seals", only(["seq", "severity", "hash"]));
  } else if (name === "tokens") {
    const { number, ...rest } = only(columns);
    insert("tokens", { rowid: number!, ...rest });
  } else insert(name, only(columns));
}
