import type { QueueBook } from "../../queues/queue-book.ts";
import { loadBook } from "../claims/queue-rows.ts";
import { Tallies } from "../counts/tallies.ts";
import { loadWorkerCounts, type WorkerCounts } from "../counts/worker-counts.ts";
import type { Connection } from "../database/connection.ts";

/** The key of a queue, by its number. */
export type QueueKeys = { byId(id: number): { key: string } | undefined };

/**
 * What reads beside the writes work with: the database as it was after one commit. What the writes keep in memory is read
 * from it by the first act that needs it, because most acts need none of it and the next commit makes it void.
 * Why: ADR 0059.
 */
export class ReadContext {
  readonly sql: Connection;
  readonly macKey: Buffer;
  readonly queueKeys: QueueKeys;
  #book: QueueBook | undefined;
  #tallies: Tallies | undefined;
  #workers: WorkerCounts | undefined;

  constructor(sql: Connection, macKey: Buffer) {
    this.sql = sql;
    this.macKey = macKey;
    this.queueKeys = storedKeys(sql);
  }

  get book(): QueueBook {
    this.#book ??= loadBook(this.sql);
    return this.#book;
  }

  get tallies(): Tallies {
    this.#tallies ??= new Tallies(this.sql);
    return this.#tallies;
  }

  get workers(): WorkerCounts {
    this.#workers ??= loadWorkerCounts(this.sql);
    return this.#workers;
  }
}

/** A page of jobs is of a few queues, of thousands that there may be. */
function storedKeys(sql: Connection): QueueKeys {
  const known = new Map<number, { key: string } | undefined>();
  return {
    byId(id) {
      if (!known.has(id)) known.set(id, sql.first("SELECT key FROM queues WHERE id = ?", id) ?? undefined);
      return known.get(id);
    },
  };
}
