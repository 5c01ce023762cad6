import { jobStates } from "../../../core/jobs/job.ts";
import { countText } from "../../database/copy-log.ts";
import type {
  CopiedIdentity,
  CopyKey,
  CopyNumbers,
  CopyPart,
  CopyRow,
  DatabaseCopy,
  PartProgress,
} from "../../database/database-copy.ts";
import { RowPage } from "../../jobs/row-page.ts";
import { Connection } from "../database/connection.ts";
import { getMove, setMove } from "../database/database-move.ts";
import { insertText, selectText } from "./table-texts.ts";

const busyTimeoutMs = 5_000;

/**
 * A file of rows. `isAsStored`: the rows go to another file, and may be of any schema since version 0.1.0. Otherwise they are as
 * every driver can keep them. Why: ADR 0086.
 */
export class TableCopy implements DatabaseCopy {
  readonly isFramed = false;
  readonly #sql: Connection;
  readonly #path: string;
  readonly #isAsStored: boolean;

  constructor(sql: Connection, path: string, { isAsStored = false } = {}) {
    this.#sql = sql;
    this.#path = path;
    this.#isAsStored = isAsStored;
  }

  async getIdentity(): Promise<CopiedIdentity | null> {
    return this.#sql.first<CopiedIdentity>("SELECT id, key_check AS keyCheck FROM database_identity");
  }

  getMove = async () => getMove(this.#sql);
  setMove = async (move: Parameters<DatabaseCopy["setMove"]>[0]) => setMove(this.#sql, move);

  async countRows(part: CopyPart): Promise<number> {
    if (this.#isAsStored && this.#columnsOf(part).size === 0) return 0;
    return this.#sql.first<{ count: number }>(countText(part))!.count;
  }

  async *readRows(part: CopyPart, after: CopyKey | null): AsyncGenerator<CopyRow[]> {
    const known = this.#isAsStored ? this.#columnsOf(part) : null;
    if (known?.size === 0) return;
    const text = selectText(part, after !== null, (column) => known?.has(column) !== false);
    const reader = new Connection(this.#path, busyTimeoutMs, { isReader: true });
    try {
      const page = new RowPage();
      for (const row of reader.statement(text).iterate(...(after ?? [])) as Iterable<CopyRow>) {
        page.add(this.#isAsStored ? row : withoutNul(row));
        if (page.isFull) yield page.take();
      }
      if (page.rows.length > 0) yield page.take();
    } finally {
      reader.close();
    }
  }

  async getNumbers(): Promise<CopyNumbers> {
    const first = this.#sql.first<{ seq: number | null }>(
      `SELECT min(seq) AS seq FROM (SELECT * FROM (SELECT seq FROM events ORDER BY seq LIMIT 1)
        UNION ALL SELECT * FROM (SELECT seq FROM audit_seals ORDER BY seq LIMIT 1))`,
    )!;
    const sealed = this.#sql.first<{ seq: number | null }>("SELECT max(seq) AS seq FROM audit_seals")!;
    return { ...countedNumbers(this.#sql), firstSeq: first.seq ?? 0, sealedSeq: sealed.seq ?? 0 };
  }

  async getProgress(): Promise<Map<string, PartProgress>> {
    const rows = this.#sql.all<{ part: string; after: string; rows: number }>("SELECT * FROM move_progress");
    return new Map(
      rows.map(({ part, after, rows }) => [part, { after: JSON.parse(after) as CopyKey, rows }]),
    );
  }

  async writeRows(part: CopyPart, rows: CopyRow[], progress: PartProgress): Promise<void> {
    this.writePage(part, progress, () => {
      const statement = this.#sql.statement(insertText(part));
      for (const row of rows) statement.run(...part.columns.map((column) => row[column] ?? null));
    });
  }

  /** What is written and how far the part has come then are one transaction. */
  writePage({ name }: CopyPart, { after, rows }: PartProgress, write: () => void): void {
    this.transact(() => {
      write();
      this.#sql.run(
        "INSERT OR REPLACE INTO move_progress (part, after, rows) VALUES (?, ?, ?)",
        name,
        JSON.stringify(after),
        rows,
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
    this.transact(() => {
      for (const [name, value] of Object.entries(tallies))
        this.#sql.run("INSERT OR REPLACE INTO tallies (name, value) VALUES (?, ?)", name, value);
    });
  }

  async finish({ id, keyCheck }: CopiedIdentity): Promise<void> {
    this.transact(() => {
      this.#sql.run("INSERT INTO database_identity (id, key_check) VALUES (?, ?)", id, keyCheck);
      this.#sql.run("DELETE FROM move_progress");
      setMove(this.#sql, null);
    });
  }

  async close(): Promise<void> {
    this.#sql.close();
  }

  #columnsOf({ name }: CopyPart): Set<string> {
    const rows = this.#sql.all<{ name: string }>("SELECT name FROM pragma_table_info(?)", name);
    return new Set(rows.map((row) => row.name));
  }

  transact(write: () => void): void {
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

/** What both forms of a file count in the same way. */
export function countedNumbers(sql: Connection): Omit<CopyNumbers, "firstSeq" | "sealedSeq"> {
  const rows = sql.all<{ name: string; value: number }>("SELECT name, value FROM tallies");
  const tallies = new Map(rows.map(({ name, value }) => [name, value]));
  const tally = (name: string): number => tallies.get(name) ?? 0;
  return {
    jobSeq: tally("job_seq"),
    eventSeq: tally("event_seq"),
    turn: tally("turn"),
    outputBytes: tally("output_bytes"),
    uncheckedHashSeq: tally("unchecked_hash_seq"),
    states: Object.fromEntries(jobStates.map((state) => [state, tally(`jobs.${state}`)])),
  };
}

/** A text of PostgreSQL holds every character but one; its driver writes another one for it too. */
function withoutNul(row: CopyRow): CopyRow {
  for (const [column, value] of Object.entries(row))
    if (typeof value === "string" && value.includes("\0")) row[column] = value.replaceAll("\0", "\uFFFD");
  return row;
}
