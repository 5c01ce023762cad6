import type { ReadName } from "../../act-names.ts";
import type { JobFilter, JobPage, ShowJobs } from "../../jobs/job-list.ts";
import { Connection } from "../database/connection.ts";
import { FileGuard } from "../database/file-guard.ts";
import { blame, storeUnavailable } from "../database/sqlite-error.ts";
import { describeError } from "./answer-error.ts";
import type { Failpoint } from "./failpoint.ts";
import type { ReadAnswer, ReaderSettings, Request } from "./wire.ts";

/** What a driver reads beside the writes. */
export type ReadActs<Context extends { readonly sql: Connection }> = {
  /** The database as it is now. */
  load(sql: Connection, macKey: Buffer): Context;
  run(context: Context, act: ReadName, input: unknown): unknown;
};

/**
 * Holds a connection that only reads. In WAL mode it waits for no write, and no write waits for it.
 * Why: ADR 0059.
 */
export class Reader<Context extends { readonly sql: Connection }> {
  readonly #acts: ReadActs<Context>;
  readonly #settings: ReaderSettings;
  readonly #macKey: Buffer;
  readonly #guard: FileGuard;
  readonly #failpoint: Failpoint;
  readonly #show: ShowJobs | undefined;
  #context: Context | null = null;
  #dataVersion = 0;

  constructor(acts: ReadActs<Context>, settings: ReaderSettings, failpoint: Failpoint, show?: ShowJobs) {
    this.#acts = acts;
    this.#settings = settings;
    this.#failpoint = failpoint;
    this.#show = show;
    this.#macKey = Buffer.from(settings.macKey);
    this.#guard = new FileGuard(settings.path, settings.file);
  }

  /** Each act sees one moment of the database: what is committed while it runs is seen by the next. */
  answer({ id, act, input }: Request): ReadAnswer {
    try {
      this.#guard.checkSometimes();
      const context = this.#begin();
      this.#failpoint(`${act}.beforeRead`);
      const value = this.#acts.run(context, act as ReadName, input);
      const shown = act === "listJobs" ? this.#shownPage(value as JobPage, input as JobFilter) : null;
      return shown === null ? { id, json: JSON.stringify(value) } : { id, value: shown };
    } catch (error) {
      if (blame(error) === "connection") this.close();
      return { id, error: describeError(blame(error) === "act" ? error : storeUnavailable(error)) };
    } finally {
      this.#end();
    }
  }

  #shownPage(page: JobPage, { shownTo }: JobFilter): JobPage | null {
    if (shownTo === undefined || this.#show === undefined) return null;
    return { ...page, jobs: [], shown: this.#show(page.jobs, shownTo) };
  }

  close(): void {
    const sql = this.#context?.sql;
    this.#context = null;
    try {
      sql?.close();
    } catch {
      // Given up either way; the next act opens another one, or reports why it cannot.
    }
  }

  #begin(): Context {
    const sql = this.#context?.sql ?? this.#open();
    sql.script("BEGIN");
    const { data_version: dataVersion } = sql.first<{ data_version: number }>("PRAGMA data_version")!;
    if (this.#context === null || dataVersion !== this.#dataVersion) {
      this.#context = this.#acts.load(sql, this.#macKey);
      this.#dataVersion = dataVersion;
    }
    return this.#context;
  }

  #open(): Connection {
    this.#guard.checkDatabase();
    const sql = new Connection(this.#settings.path, this.#settings.busyTimeoutMs, { isReader: true });
    this.#guard.noteLog();
    this.#context = this.#acts.load(sql, this.#macKey);
    this.#dataVersion = -1;
    return sql;
  }

  /** A transaction that stays open would keep the log from being reused. SQLite may have ended it by itself. */
  #end(): void {
    const sql = this.#context?.sql;
    if (sql === undefined || !sql.inTransaction) return;
    try {
      sql.script("ROLLBACK");
    } catch {
      this.close();
    }
  }
}
