import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Store } from "../../src/store/store.ts";
import { macKey, Scene } from "../store-contract/scene.ts";
import { sqliteTamper } from "../store-contract/sqlite-tamper.ts";
import { openWithoutThread } from "../store-contract/sqlite-without-thread.ts";
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
    await (await openWithoutThread({ path: this.#emptyPath, macKey })).close();
  }

  /** A scene on the database as it was at first. */
  async openScene(): Promise<Scene> {
    for (const suffix of suffixes) rmSync(this.#path + suffix, { force: true });
    copyFileSync(this.#emptyPath, this.#path);
    const under = { open: () => this.open(), tamper: sqliteTamper(this.#path) } as StoreUnderTest;
    return Scene.open(under);
  }

  open(): Promise<Store> {
    return openWithoutThread({ path: this.#path, macKey });
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

function rowsOf(path: string): Stored {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const names = database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .all()
      .map((row) => String(row["name"]));
    return Object.fromEntries(names.map((name) => [name, textOf(database, name)]));
  } finally {
    database.close();
  }
}

function textOf(database: DatabaseSync, table: string): string {
  const rows = database.prepare(`SELECT * FROM "${table}"`).all();
  return rows
    .map((row) =>
      JSON.stringify(row, (_, value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value,
      ),
    )
    .sort()
    .join("\n");
}
