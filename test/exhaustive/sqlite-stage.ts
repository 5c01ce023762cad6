import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { loadContext } from "../../src/store/sqlite/context.ts";
import { Connection } from "../../src/store/sqlite/database/connection.ts";
import { flushRows } from "../../src/store/sqlite/jobs/flush-rows.ts";
import { connect } from "../../src/store/sqlite/open-in-process.ts";
import { readActs } from "../../src/store/sqlite/reads/read-acts.ts";
import { sqliteDriver } from "../../src/store/sqlite/sqlite-driver.ts";
import { flushedReads } from "../../src/store/sqlite/thread/flushed-reads.ts";
import { ReadProxy } from "../../src/store/sqlite/thread/read-proxy.ts";
import { serve } from "../../src/store/sqlite/thread/serve.ts";
import { serveReads } from "../../src/store/sqlite/thread/serve-reads.ts";
import type { Store } from "../../src/store/store.ts";
import { macKey, Scene } from "../store-contract/scene.ts";
import { sqliteTamper } from "../store-contract/sqlite-tamper.ts";
import type { StoreUnderTest } from "../store-contract/under-test.ts";
import type { Stored } from "./verdict.ts";

const suffixes = ["", "-wal", "-shm"];

/** A database whose files can be read, kept and put back. */
export class SqliteStage {
  readonly #path: string;
  readonly #copyPath: string;
  readonly #emptyPath: string;
  #kept: (Buffer | null)[] = [];

  /** Faults strike what lies in `folder/live/`. */
  constructor(folder: string) {
    const at = (name: string) => {
      mkdirSync(join(folder, name), { recursive: true });
      return join(folder, name, "writ.db");
    };
    this.#path = at("live");
    this.#copyPath = at("copy");
    this.#emptyPath = at("empty");
  }

  /** Makes the database that every scene begins with. */
  async make(): Promise<void> {
    await (await openAt(this.#emptyPath)).close();
  }

  /** A scene on the database as it was at first. */
  async openScene(): Promise<Scene> {
    for (const suffix of suffixes) rmSync(this.#path + suffix, { force: true });
    copyFileSync(this.#emptyPath, this.#path);
    const under = { open: () => this.open(), tamper: sqliteTamper(this.#path) } as StoreUnderTest;
    return Scene.open(under);
  }

  open(): Promise<Store> {
    return openAt(this.#path);
  }

  /** Keeps the files of now, or those of a database whose log is so long that the next commit is followed by a checkpoint. */
  keep({ isLogLong = false } = {}): void {
    const log = isLogLong ? lengthenLog(this.#path) : null;
    this.#kept = suffixes.map((suffix) =>
      existsSync(this.#path + suffix) ? readFileSync(this.#path + suffix) : null,
    );
    log?.close();
  }

  /** Keeps that there is no database. */
  keepNothing(): void {
    this.#kept = [];
  }

  putBack(): void {
    for (const [index, suffix] of suffixes.entries()) {
      const kept = this.#kept[index] ?? null;
      // A new file each time: one that is overwritten may still be mapped.
      rmSync(this.#path + suffix, { force: true });
      if (kept !== null) writeFileSync(this.#path + suffix, kept, { mode: 0o600 });
    }
  }

  /** What the store itself sees. */
  readLive(): Stored {
    return rowsOf(this.#path);
  }

  /** The database that every scene begins with. */
  readEmpty(): Stored {
    return rowsOf(this.#emptyPath);
  }

  /** What the next process would find if this one were killed now: the index of the log is made anew from the log. */
  readAfterCrash(): Stored {
    for (const suffix of suffixes) rmSync(this.#copyPath + suffix, { force: true });
    for (const suffix of ["", "-wal"])
      if (existsSync(this.#path + suffix)) copyFileSync(this.#path + suffix, this.#copyPath + suffix);
    return rowsOf(this.#copyPath);
  }
}

/** More pages than the store allows its log before a checkpoint. */
const longLogPages = 4_100;

/** Writes the same page again and again, and returns the connection: closing it would empty the log. */
function lengthenLog(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0");
  const touch = database.prepare("UPDATE database_identity SET id = id");
  for (let page = 0; page < longLogPages; page++) touch.run();
  return database;
}

/** Rows that are kept back are written when something reads them: by a clock, calls would come at any moment. */
const withoutRest = { ...sqliteDriver, isUnsettled: () => false };

async function openAt(path: string): Promise<Store> {
  const settings = { path, macKey, busyTimeoutMs: 5_000, failpointModule: null };
  const writer = connect((port) => void serve(withoutRest, port, settings));
  const opened = await writer.opened;
  const reads = new ReadProxy(() =>
    connect((port) => void serveReads(readActs, port, { ...settings, ...opened })),
  );
  return writer.store(flushedReads(writer, reads));
}

/** Every table, as it is once the rows are written that follow from the frames. Nothing of that is kept. */
function rowsOf(path: string): Stored {
  const sql = new Connection(path, 5_000);
  try {
    sql.script("BEGIN IMMEDIATE");
    flushRows(loadContext(sql, macKey));
    const names = sql.all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
    );
    return Object.fromEntries(names.map(({ name }) => [name, textOf(sql, name)]));
  } finally {
    if (sql.inTransaction) sql.script("ROLLBACK");
    sql.close();
  }
}

function textOf(sql: Connection, table: string): string {
  return sql
    .all(`SELECT * FROM "${table}"`)
    .map((row) =>
      JSON.stringify(row, (_, value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value,
      ),
    )
    .sort()
    .join("\n");
}
