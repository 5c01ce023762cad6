import { WritError } from "../../../core/errors.ts";
import { jobStates } from "../../../core/jobs/job.ts";
import { countText } from "../../database/copy-log.ts";
import {
  type CopiedIdentity,
  type CopyKey,
  type CopyNumbers,
  type CopyPart,
  type CopyRow,
  type DatabaseCopy,
  type PartProgress,
  refuseOtherSchema,
} from "../../database/database-copy.ts";
import { RowPage } from "../../jobs/row-page.ts";
import { openServer } from "../connection/check-server.ts";
import { Connection } from "../connection/connection.ts";
import { readByCursor } from "../connection/cursor.ts";
import type { Statement } from "../transaction/job-writes.ts";
import { columnsText, insertRows, selectText, type TableColumn, tableRows } from "./copy-texts.ts";
import { getMove, setMove } from "./database-move.ts";
import { migrate, schemaIfAny, schemaSteps } from "./migrate.ts";

/** Opens a database to be copied, or as a target, which may still have to be given its schema. Why: ADR 0086. */
export async function openDatabaseCopy(
  url: string,
  { isTarget }: { isTarget: boolean },
): Promise<DatabaseCopy> {
  const sql = await openServer({ url, idleInTransactionMs: 0 });
  try {
    const found = await schemaIfAny(sql);
    if (found !== null) refuseOtherSchema("in WRIT_DATABASE_URL", schemaSteps(), found);
    else if (isTarget) await migrate(sql);
    else throw new WritError("CONFIG_INVALID", "no hub has used the database in WRIT_DATABASE_URL");
    return new PostgresCopy(sql, url);
  } catch (error) {
    await sql.close();
    throw error;
  }
}

const aheadEvents = 5_000_000;

class PostgresCopy implements DatabaseCopy {
  readonly isFramed = false;
  readonly #sql: Connection;
  readonly #url: string;
  readonly #columns = new Map<string, TableColumn[]>();

  constructor(sql: Connection, url: string) {
    this.#sql = sql;
    this.#url = url;
  }

  getIdentity(): Promise<CopiedIdentity | null> {
    return this.#sql.first<CopiedIdentity>(`SELECT id, key_check AS "keyCheck" FROM database_identity`);
  }

  getMove = () => getMove(this.#sql);
  setMove = (move: Parameters<DatabaseCopy["setMove"]>[0]) => setMove(this.#sql, move);

  async countRows(part: CopyPart): Promise<number> {
    return (await this.#sql.first<{ count: number }>(countText(part)))!.count;
  }

  /** On a connection of its own: a cursor lives in a transaction, and rows of a target are written meanwhile. */
  async *readRows(part: CopyPart, after: CopyKey | null): AsyncGenerator<CopyRow[]> {
    const sql = await Connection.open({ url: this.#url, idleInTransactionMs: 0 });
    try {
      await sql.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      const page = new RowPage();
      for await (const rows of readByCursor<CopyRow>(
        sql,
        selectText(part, after !== null),
        ...(after ?? []),
      )) {
        for (const row of rows) page.add(row);
        if (page.isFull) yield page.take();
      }
      if (page.rows.length > 0) yield page.take();
    } finally {
      await sql.close();
    }
  }

  async getNumbers(): Promise<CopyNumbers> {
    const row = await this.#sql.first<Record<string, number>>(
      `SELECT l.*, (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM job_seq) AS job_seq,
          (SELECT coalesce(max(turn), 0) FROM tenants) AS turn,
          (SELECT coalesce(least((SELECT min(seq) FROM events), (SELECT min(seq) FROM audit_seals)), 0)) AS first_seq,
          (SELECT coalesce(max(seq), 0) FROM audit_seals) AS sealed_seq
        FROM log_state l`,
    );
    const number = (name: string): number => row![name]!;
    return {
      jobSeq: number("job_seq"),
      eventSeq: number("last"),
      turn: number("turn"),
      outputBytes: number("output_bytes"),
      uncheckedHashSeq: number("unchecked_hash_seq"),
      firstSeq: number("first_seq"),
      sealedSeq: number("sealed_seq"),
      states: Object.fromEntries(jobStates.map((state) => [state, number(state)])),
    };
  }

  async getProgress(): Promise<Map<string, PartProgress>> {
    const rows = await this.#sql.all<{ part: string; after: string; rows: number }>(
      "SELECT * FROM move_progress",
    );
    return new Map(
      rows.map(({ part, after, rows }) => [part, { after: JSON.parse(after) as CopyKey, rows }]),
    );
  }

  async writeRows(part: CopyPart, rows: CopyRow[], { after, rows: count }: PartProgress): Promise<void> {
    const inserts: Statement[] = [];
    for (const one of tableRows(part, rows)) {
      if (one.rows.length > 0)
        inserts.push(insertRows(one.table, await this.#columnsOf(one.table), one.rows));
    }
    await this.#transact(() => [
      ...inserts.map(({ text, values }) => this.#sql.run(text, ...values)),
      this.#sql.run(
        `INSERT INTO move_progress (part, after, rows) VALUES ($1, $2, $3)
          ON CONFLICT (part) DO UPDATE SET after = excluded.after, rows = excluded.rows`,
        part.name,
        JSON.stringify(after),
        count,
      ),
    ]);
  }

  async writeNumbers(numbers: CopyNumbers): Promise<void> {
    const { states } = numbers;
    const columns = jobStates.map((state) => `${state} = ${Number(states[state] ?? 0)}`).join(", ");
    const sequence = (name: string, text: string) =>
      this.#sql.all(`SELECT setval(${name}, greatest(m, 1), m > 0) FROM (SELECT ${text} AS m) AS x`);
    await this.#transact(() => [
      this.#sql.run(
        `UPDATE log_state SET last = $1, version = 1, settings_version = 1, output_bytes = $2,
          unchecked_hash_seq = $3, ${columns}`,
        numbers.eventSeq,
        numbers.outputBytes,
        numbers.uncheckedHashSeq,
      ),
      sequence("'job_seq'", `${Number(numbers.jobSeq)}::bigint`),
      ...identityColumns.map(([table, column]) =>
        sequence(
          `pg_get_serial_sequence('${table}', '${column}')`,
          `(SELECT coalesce(max(${column}), 0) FROM ${table})`,
        ),
      ),
    ]);
  }

  /** The log's partitions begin with the one of its last number, so that is set to the oldest one for a moment. */
  async prepare({ firstSeq, eventSeq }: CopyNumbers): Promise<void> {
    await this.#transact(() => [
      this.#sql.run("UPDATE log_state SET last = $1", firstSeq),
      this.#sql.all("SELECT add_log_partitions($1)", eventSeq + aheadEvents),
    ]);
  }

  async finish({ id, keyCheck }: CopiedIdentity): Promise<void> {
    await this.#transact(() => [
      this.#sql.run("INSERT INTO database_identity (id, key_check) VALUES ($1, $2)", id, keyCheck),
      this.#sql.run("DELETE FROM move_progress"),
      setMove(this.#sql, null),
    ]);
    // A table that was filled in bulk is unknown to the planner until somebody looks at it.
    await this.#sql.script("ANALYZE jobs, ready, delayed, held, active, ended, events, audit_seals");
  }

  close(): Promise<void> {
    return this.#sql.close();
  }

  async #columnsOf(table: string): Promise<TableColumn[]> {
    const known = this.#columns.get(table) ?? (await this.#sql.all<TableColumn>(columnsText, table));
    this.#columns.set(table, known);
    return known;
  }

  async #transact(send: () => Promise<unknown>[]): Promise<void> {
    await this.#sql.script("BEGIN");
    try {
      await Promise.all(this.#sql.together(send));
      await this.#sql.commit();
    } catch (error) {
      await this.#sql.script("ROLLBACK").catch(() => {});
      throw error;
    }
  }
}

const identityColumns = [
  ["queues", "id"],
  ["job_lanes", "id"],
  ["tokens", "number"],
  ["outbox", "id"],
] as const;
