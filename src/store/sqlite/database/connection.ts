import { chmodSync, closeSync, openSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { refuseForeignFile } from "./foreign-file.ts";
import { openForReading } from "./open-for-reading.ts";
import { refuseUnsafeSqlite } from "./sqlite-version.ts";

export type SqlValue = SQLInputValue;

/**
 * One open database. Each statement is prepared once and kept for as long as the connection is open.
 * Why: ADR 0003, ADR 0073.
 */
export class Connection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #rowStatements = new Map<string, StatementSync>();
  readonly #isReader: boolean;

  /** With `isOfHub`, a file of another program is refused before anything is changed in it. */
  constructor(path: string, busyTimeoutMs: number, { isReader = false, isOfHub = false } = {}) {
    this.#isReader = isReader;
    if (!isReader) makePrivate(path);
    const options = {
      timeout: busyTimeoutMs,
      readOnly: isReader,
      enableForeignKeyConstraints: true,
      enableDoubleQuotedStringLiterals: false,
    };
    this.#database = isReader ? openForReading(path, options) : new DatabaseSync(path, options);
    try {
      refuseUnsafeSqlite(this.first<{ version: string }>("SELECT sqlite_version() AS version")!.version);
      if (isOfHub) refuseForeignFile(this.#database, path);
      this.#database.exec(isReader ? readerSettings : settings);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** SQLite gives up such a transaction when it meets a broken page, even if only a read asked for it. */
  get isWriting(): boolean {
    return !this.#isReader && this.inTransaction;
  }

  /** The statement for this text. Texts are constants of this room, or built from a fixed set of columns. */
  statement(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#database.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement;
  }

  /** The same, but with rows as arrays: for wide rows that is twice as fast as objects. */
  rowStatement(text: string): StatementSync {
    let statement = this.#rowStatements.get(text);
    if (statement === undefined) {
      statement = this.#database.prepare(text);
      statement.setReturnArrays(true);
      this.#rowStatements.set(text, statement);
    }
    return statement;
  }

  /** How many rows the statement changed. */
  run(text: string, ...values: SqlValue[]): number {
    return Number(this.statement(text).run(...values).changes);
  }

  first<Row>(text: string, ...values: SqlValue[]): Row | null {
    return (this.statement(text).get(...values) as Row | undefined) ?? null;
  }

  all<Row>(text: string, ...values: SqlValue[]): Row[] {
    return this.statement(text).all(...values) as Row[];
  }

  /** Runs several statements from a file of this room. */
  script(text: string): void {
    this.#database.exec(text);
  }

  /** Makes a function of ours known to statements. */
  define(name: string, act: (...values: SqlValue[]) => SqlValue): void {
    this.#database.function(name, act as Parameters<DatabaseSync["function"]>[1]);
  }

  close(): void {
    this.#database.close();
  }
}

/**
 * FULL, because NORMAL may lose answered commits in a power failure. With a checkpoint every 4,000 pages (32 MB), a
 * page that many commits touched is written once and not each time; the log file is truncated to 64 MB. A new database has
 * pages of 8 KiB, because a commit writes each page by itself: with 4 KiB, which older databases keep, a batch of jobs
 * fills more of them.
 */
const settings = `
  PRAGMA page_size = 8192;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA cache_size = -32768;
  PRAGMA temp_store = MEMORY;
`;

/** A page of a list is some hundred pages of the file. The kernel keeps what is read often. */
const readerSettings = `
  PRAGMA cache_size = -4096;
  PRAGMA temp_store = MEMORY;
`;

/** SQLite gives the log files the mode of the database, so this one line keeps all three private. */
export function makePrivate(path: string): void {
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
}
