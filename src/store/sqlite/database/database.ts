import { WritError } from "../../../core/errors.ts";
import { nothingUnreadable } from "../frames/unreadable.ts";
import type { Failpoint } from "../thread/failpoint.ts";
import type { GroupContext, GroupDriver } from "../thread/group-driver.ts";
import type { ThreadSettings } from "../thread/wire.ts";
import { Connection } from "./connection.ts";
import { FileGuard } from "./file-guard.ts";
import { openIdentity } from "./identity.ts";
import { blame, storeUnavailable } from "./sqlite-error.ts";

/**
 * Holds the one connection: opens it, reopens it after an I/O error, and keeps memory in step with the file.
 * Why: ADR 0003.
 */
export class Database<Context extends GroupContext> {
  readonly driver: GroupDriver<Context>;
  readonly #settings: ThreadSettings;
  readonly #macKey: Buffer;
  readonly failpoint: Failpoint;
  #context: Context | null = null;
  #guard: FileGuard | null = null;
  #dataVersion = 0;
  #writeFailed = false;
  /** Kept when the connection is given up, which is what a broken page leads to. */
  readonly #unreadable = nothingUnreadable();
  schemaVersion = 0;

  constructor(driver: GroupDriver<Context>, settings: ThreadSettings, failpoint: Failpoint) {
    this.driver = driver;
    this.#settings = settings;
    this.#macKey = Buffer.from(settings.macKey);
    this.failpoint = failpoint;
    this.#open();
  }

  /** The current context. Throws STORE_UNAVAILABLE if the database cannot be opened. */
  context(): Context {
    try {
      if (this.#context === null) return this.#open();
      if (dataVersion(this.#context.sql) !== this.#dataVersion) return this.#refresh(this.#context.sql);
      return this.#context;
    } catch (error) {
      this.#drop();
      throw error instanceof WritError ? error : storeUnavailable(error);
    }
  }

  /** The connection, for what does not depend on memory. Throws STORE_UNAVAILABLE if the database cannot be opened. */
  connection(): Connection {
    return (this.#context ?? this.context()).sql;
  }

  /** The transaction is lost; makes sure that the next one starts from the file. */
  recover(error: unknown): void {
    this.#writeFailed = true;
    const sql = this.#context?.sql;
    if (sql === undefined) return;
    try {
      if (blame(error) === "connection") throw error;
      if (sql.inTransaction) sql.script("ROLLBACK");
      this.#refresh(sql);
    } catch {
      this.#drop();
    }
  }

  /** A commit has succeeded, so the disk accepts writes. */
  committed(): void {
    this.#writeFailed = false;
    if (this.#context !== null) this.#context.writeFailed = false;
  }

  /** Whether memory holds back something that is to be written soon. */
  isUnsettled(): boolean {
    return this.#context !== null && this.driver.isUnsettled(this.#context);
  }

  close(): void {
    this.#drop();
  }

  /** The file that was opened, for others who must use the same. */
  get file(): string | null {
    return this.#guard!.opened;
  }

  /** Throws if the files are no longer those that were opened. */
  checkFiles(): void {
    this.#guard?.check();
  }

  /** The same before a group of calls, where a moment ago is good enough. */
  checkFilesSometimes(): void {
    this.#guard?.checkSometimes();
  }

  #open(): Context {
    this.#guard?.checkDatabase();
    const sql = new Connection(this.#settings.path, this.#settings.busyTimeoutMs, { isOfHub: true });
    try {
      this.schemaVersion = this.driver.migrate(sql, this.failpoint);
      const context = this.#refresh(sql);
      openIdentity(sql, this.#macKey, this.#settings.path);
      if (this.#guard === null) this.#guard = new FileGuard(this.#settings.path);
      else this.#guard.noteLog();
      return context;
    } catch (error) {
      sql.close();
      throw error;
    }
  }

  /** Another connection has changed the file, or a rollback has: what memory holds is read again. */
  #refresh(sql: Connection): Context {
    this.#dataVersion = dataVersion(sql);
    const context = atOneMoment(sql, () => this.driver.load(sql, this.#macKey, this.#unreadable));
    context.writeFailed = this.#writeFailed;
    this.#context = context;
    return context;
  }

  #drop(): void {
    const sql = this.#context?.sql;
    this.#context = null;
    try {
      sql?.close();
    } catch {
      // The connection is given up either way; the next call opens a new one or reports why it cannot.
    }
  }
}

/** What another connection commits meanwhile is not seen, or only a part of it would be. */
function atOneMoment<T>(sql: Connection, read: () => T): T {
  if (sql.inTransaction) return read();
  sql.script("BEGIN");
  try {
    return read();
  } finally {
    if (sql.inTransaction) sql.script("COMMIT");
  }
}

function dataVersion(sql: Connection): number {
  return sql.first<{ data_version: number }>("PRAGMA data_version")!.data_version;
}
