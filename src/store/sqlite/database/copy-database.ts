import { statSync } from "node:fs";
import { WritError } from "../../../core/errors.ts";
import { jobStates } from "../../../core/jobs/job.ts";
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
import { framedSchema } from "../forms/file-form.ts";
import { Connection, type SqlValue } from "./connection.ts";
import { insertTexts, selectText } from "./copy-texts.ts";
import { getMove, setMove } from "./database-move.ts";
import { migrate, schemaSteps, schemaVersion } from "./migrate.ts";

const busyTimeoutMs = 5_000;

/** Opens a database file to be copied, or as a target, which may still have to be made. Why: ADR 0086. */
export function openDatabaseCopy(path: string, { isTarget }: { isTarget: boolean }): DatabaseCopy {
  const isNew = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
  if (isNew && !isTarget) throw new WritError("CONFIG_INVALID", `there is no database at ${path}`);
  const sql = new Connection(path, busyTimeoutMs, { isOfHub: true });
  try {
    if (schemaVersion(sql) === framedSchema) throw cannotCopy(path);
    if (isNew) migrate(sql, () => {});
    else refuseOtherSchema(path, schemaSteps(), schemaVersion(sql));
    return new SqliteCopy(sql, path);
  } catch (error) {
    sql.close();
    throw error;
  }
}

function cannotCopy(path: string): WritError {
  return new WritError(
    "CONFIG_INVALID",
    `the database ${path} keeps jobs in group frames, which this program cannot copy yet; only databases that keep them in rows can be moved`,
  );
}

class SqliteCopy implements DatabaseCopy {
  readonly #sql: Connection;
  readonly #path: string;

  constructor(sql: Connection, path: string) {
    this.#sql = sql;
    this.#path = path;
  }

  async getIdentity(): Promise<CopiedIdentity | null> {
    return this.#sql.first<CopiedIdentity>("SELECT id, key_check AS keyCheck FROM database_identity");
  }

  getMove = async () => getMove(this.#sql);
  setMove = async (move: Parameters<DatabaseCopy["setMove"]>[0]) => setMove(this.#sql, move);

  async countRows(part: CopyPart): Promise<number> {
    return this.#sql.first<{ count: number }>(`SELECT count(*) AS count FROM ${part.name}`)!.count;
  }

  async *readRows(part: CopyPart, after: CopyKey | null): AsyncGenerator<CopyRow[]> {
    const reader = new Connection(this.#path, busyTimeoutMs, { isReader: true });
    try {
      const page = new RowPage();
      const rows = reader.statement(selectText(part, after !== null)).iterate(...(after ?? []));
      for (const row of rows as Iterable<CopyRow>) {
        page.add(withoutNul(row));
        if (page.isFull) yield page.take();
      }
      if (page.rows.length > 0) yield page.take();
    } finally {
      reader.close();
    }
  }

  async getNumbers(): Promise<CopyNumbers> {
    const rows = this.#sql.all<{ name: string; value: number }>("SELECT name, value FROM tallies");
    const tallies = new Map(rows.map(({ name, value }) => [name, value]));
    const tally = (name: string): number => tallies.get(name) ?? 0;
    const first = this.#sql.first<{ seq: number | null }>(
      `SELECT min(seq) AS seq FROM (SELECT * FROM (SELECT seq FROM events ORDER BY seq LIMIT 1)
        UNION ALL SELECT * FROM (SELECT seq FROM audit_seals ORDER BY seq LIMIT 1))`,
    )!;
    return {
      jobSeq: tally("job_seq"),
      eventSeq: tally("event_seq"),
      turn: tally("turn"),
      outputBytes: tally("output_bytes"),
      uncheckedHashSeq: tally("unchecked_hash_seq"),
      firstSeq: first.seq ?? 0,
      states: Object.fromEntries(jobStates.map((state) => [state, tally(`jobs.${state}`)])),
    };
  }

  async getProgress(): Promise<Map<string, PartProgress>> {
    const rows = this.#sql.all<{ part: string; after: string; rows: number }>("SELECT * FROM move_progress");
    return new Map(
      rows.map(({ part, after, rows }) => [part, { after: JSON.parse(after) as CopyKey, rows }]),
    );
  }

  async writeRows(part: CopyPart, rows: CopyRow[], { after, rows: count }: PartProgress): Promise<void> {
    this.#transact(() => {
      for (const { text, columns, isFor } of insertTexts(part)) {
        const statement = this.#sql.statement(text);
        for (const row of rows)
          if (isFor(row)) statement.run(...columns.map((column) => valueIn(row, column)));
      }
      this.#sql.run(
        "INSERT OR REPLACE INTO move_progress (part, after, rows) VALUES (?, ?, ?)",
        part.name,
        JSON.stringify(after),
        count,
      );
    });
  }

  async prepare(): Promise<void> {}

  async writeNumbers(numbers: CopyNumbers): Promise<void> {
    const { jobSeq, eventSeq, turn, outputBytes, uncheckedHashSeq, states } = numbers;
    const tallies: Record<string, number> = {
      job_seq: jobSeq,
      event_seq: eventSeq,
      turn,
      output_bytes: outputBytes,
      unchecked_hash_seq: uncheckedHashSeq,
    };
    for (const [state, count] of Object.entries(states)) tallies[`jobs.${state}`] = count;
    this.#transact(() => {
      for (const [name, value] of Object.entries(tallies))
        this.#sql.run("INSERT OR REPLACE INTO tallies (name, value) VALUES (?, ?)", name, value);
    });
  }

  async finish({ id, keyCheck }: CopiedIdentity): Promise<void> {
    this.#transact(() => {
      this.#sql.run("INSERT INTO database_identity (id, key_check) VALUES (?, ?)", id, keyCheck);
      this.#sql.run("DELETE FROM move_progress");
      setMove(this.#sql, null);
    });
  }

  async close(): Promise<void> {
    this.#sql.close();
  }

  #transact(write: () => void): void {
    this.#sql.script("BEGIN IMMEDIATE");
    try {
      write();
      this.#sql.script("COMMIT");
    } catch (error) {
      if (this.#sql.inTransaction) this.#sql.script("ROLLBACK");
      throw error;
    }
  }
}

/** In PostgreSQL, `place` says what the column `ready` says here. */
function valueIn(row: CopyRow, column: string): SqlValue {
  if (column !== "ready") return row[column] ?? null;
  const { place } = row;
  return place === "ready" ? 1 : place === "delayed" ? 0 : null;
}

/** A text of PostgreSQL holds every character but one; its driver writes another one for it too. */
function withoutNul(row: CopyRow): CopyRow {
  for (const [column, value] of Object.entries(row))
    if (typeof value === "string" && value.includes("\0")) row[column] = value.replaceAll("\0", "\uFFFD");
  return row;
}
