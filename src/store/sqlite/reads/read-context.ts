import { searchedBytesMax } from "../../jobs/job-list.ts";
import type { QueueBook } from "../../queues/queue-book.ts";
import { loadBook } from "../claims/queue-rows.ts";
import { Tallies } from "../counts/tallies.ts";
import { loadWorkerCounts, type WorkerCounts } from "../counts/worker-counts.ts";
import type { Connection } from "../database/connection.ts";
import { FrameReader } from "../frames/frame-reader.ts";
import { lastFrame } from "../frames/frame-rows.ts";
import { Names } from "../jobs/names.ts";

/** What reads beside the writes work with: the database as it was after one commit, and what of it was read before. Why: ADR 0116. */
export class ReadContext {
  readonly sql: Connection;
  readonly macKey: Buffer;
  readonly frames: FrameReader;
  readonly names: Names;
  #book: QueueBook | undefined;
  #tallies: Tallies | undefined;
  #workers: WorkerCounts | undefined;

  constructor(sql: Connection, macKey: Buffer) {
    this.sql = sql;
    this.macKey = macKey;
    this.frames = new FrameReader(sql, macKey);
    this.names = new Names(sql);
    const { frames } = this;
    // A document that is larger and has no summary is not searched.
    sql.define("searched_document", (frame, place) => {
      const { text } = frames.plain(frame as number, "documents", place as number);
      return Buffer.byteLength(text) > searchedBytesMax ? null : text;
    });
  }

  get book(): QueueBook {
    this.#book ??= loadBook(this.sql);
    return this.#book;
  }

  get tallies(): Tallies {
    this.#tallies ??= currentTallies(this.sql);
    return this.#tallies;
  }

  get workers(): WorkerCounts {
    this.#workers ??= loadWorkerCounts(this.sql);
    return this.#workers;
  }
}

/** What is counted is written with the rows, but events are in the log before that. */
function currentTallies(sql: Connection): Tallies {
  const tallies = new Tallies(sql);
  const last = lastFrame(sql)?.lastEvent ?? 0;
  tallies.add("event_seq", Math.max(0, last - tallies.get("event_seq")));
  return tallies;
}
