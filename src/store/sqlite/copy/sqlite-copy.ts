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
import { loadContext } from "../context.ts";
import { Connection } from "../database/connection.ts";
import { flushRows } from "../jobs/flush-rows.ts";
import { Names } from "../jobs/names.ts";
import { ReadContext } from "../reads/read-context.ts";
import {
  copiedEventsText,
  countEvents,
  keepTimelines,
  prunedThrough,
  readEvents,
  writeEvents,
} from "./copied-events.ts";
import { readJobs, writeJobs } from "./copied-jobs.ts";
import type { LogNumbers } from "./copied-log.ts";
import { readReceipts, writeReceipts } from "./copied-receipts.ts";
import { FrameWriter } from "./frame-writer.ts";
import { countedNumbers, TableCopy } from "./table-copy.ts";

const busyTimeoutMs = 5_000;

/**
 * A file of group frames that is copied, or filled: jobs, kept receipts and the log are read as the rows of other drivers, and
 * written into frames. Everything else is the same rows here. Why: ADR 0086, ADR 0116, ADR 0121.
 */
export class SqliteCopy implements DatabaseCopy {
  readonly isFramed = true;
  readonly #sql: Connection;
  readonly #path: string;
  readonly #macKey: Buffer;
  readonly #plain: TableCopy;
  readonly #names: Names;
  #numbers: LogNumbers = { sealedSeq: 0, eventSeq: 0 };

  constructor(sql: Connection, path: string, macKey: Buffer) {
    this.#sql = sql;
    this.#path = path;
    this.#macKey = macKey;
    this.#plain = new TableCopy(sql, path);
    this.#names = new Names(sql);
  }

  getIdentity = () => this.#plain.getIdentity();
  getMove = () => this.#plain.getMove();
  setMove = (move: Parameters<DatabaseCopy["setMove"]>[0]) => this.#plain.setMove(move);
  getProgress = () => this.#plain.getProgress();
  close = () => this.#plain.close();

  /** What memory would make up for when a hub opens the file is written into the rows. */
  writeAllRows(): void {
    this.#plain.transact(() => flushRows(loadContext(this.#sql, this.#macKey)));
  }

  async countRows(part: CopyPart): Promise<number> {
    if (part.name === "events") return countEvents(this.#sql);
    const name = part.name === "receipts" ? "kept_receipts" : part.name;
    return this.#sql.first<{ count: number }>(countText({ ...part, name }))!.count;
  }

  async *readRows(part: CopyPart, after: CopyKey | null): AsyncGenerator<CopyRow[]> {
    const read = reads[part.name];
    if (read === undefined) {
      yield* this.#plain.readRows(part, after);
      return;
    }
    const reader = new Connection(this.#path, busyTimeoutMs, { isReader: true });
    try {
      const page = new RowPage();
      for (const row of read(new ReadContext(reader, this.#macKey), after)) {
        page.add(row);
        if (page.isFull) yield page.take();
      }
      if (page.rows.length > 0) yield page.take();
    } finally {
      reader.close();
    }
  }

  async writeRows(part: CopyPart, rows: CopyRow[], progress: PartProgress): Promise<void> {
    const write = writes[part.name];
    if (write === undefined) return this.#plain.writeRows(part, rows, progress);
    try {
      this.#plain.writePage(part, progress, () => {
        const frames = new FrameWriter(this.#sql, this.#macKey);
        const target = { sql: this.#sql, macKey: this.#macKey, names: this.#names, frames };
        write({ ...target, numbers: this.#numbers }, rows);
      });
    } catch (error) {
      // Numbers that were given are void with the transaction.
      this.#names.forget();
      throw error;
    }
  }

  async getNumbers(): Promise<CopyNumbers> {
    const counted = countedNumbers(this.#sql);
    const first = this.#sql.first<{ seq: number | null }>(
      `SELECT min(seq) AS seq FROM (
          SELECT min(max(first_event, ?1)) AS seq FROM frames WHERE last_event >= ?1 AND last_event >= first_event
          UNION ALL SELECT min(through_seq) FROM skipped_events WHERE through_seq >= ?1)`,
      prunedThrough(this.#sql),
    )!;
    return { ...counted, firstSeq: first.seq ?? 0, sealedSeq: counted.eventSeq };
  }

  async prepare(numbers: CopyNumbers): Promise<void> {
    this.#numbers = numbers;
    this.#sql.script(copiedEventsText);
  }

  /** Rows are beside their frames from the beginning, so that nothing is replayed. */
  async writeNumbers(numbers: CopyNumbers): Promise<void> {
    await this.#plain.writeNumbers(numbers);
    this.#plain.transact(() => {
      const tally = "INSERT OR REPLACE INTO tallies (name, value) SELECT ?, ";
      for (const name of ["flushed_frame", "copied_frame"])
        this.#sql.run(`${tally} coalesce(max(number), 0) FROM frames`, name);
      this.#sql.run(
        `${tally} coalesce(min(first_event), 1) - 1 FROM frames WHERE last_event >= first_event`,
        "pruned_event",
      );
    });
  }

  async finish(identity: CopiedIdentity): Promise<void> {
    this.#plain.transact(() => keepTimelines(this.#sql));
    await this.#plain.finish(identity);
  }
}

type Target = Parameters<typeof writeJobs>[0] & { numbers: LogNumbers };

const reads: Record<string, (context: ReadContext, after: CopyKey | null) => Generator<CopyRow>> = {
  events: readEvents,
  receipts: readReceipts,
  jobs: readJobs,
};

const writes: Record<string, (target: Target, rows: CopyRow[]) => void> = {
  events: writeEvents,
  receipts: writeReceipts,
  jobs: writeJobs,
};
