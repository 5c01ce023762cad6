import { randomUUID } from "node:crypto";
import { Connection, type ConnectionSettings } from "../connection/connection.ts";
import { blame, nothingStored, outcomeUnknown } from "../connection/postgres-error.ts";
import type { ServerPulse } from "../connection/server-pulse.ts";
import type { Answer } from "./answers.ts";
import type { Finished, Transaction } from "./transaction.ts";

type Done = { answers: Answer[]; tx: Transaction; finished: Finished | null };

/**
 * A connection on which one transaction after the other is written. It is opened when it is needed for the first time.
 * Why: ADR 0080.
 */
export class Lane {
  readonly #id = randomUUID();
  readonly #settings: ConnectionSettings;
  readonly #pulse: ServerPulse;
  #sql: Connection | null = null;
  #usedAtMs = Number.NEGATIVE_INFINITY;
  #group = 0;

  constructor(settings: ConnectionSettings, pulse: ServerPulse) {
    this.#settings = settings;
    this.#pulse = pulse;
  }

  /** Runs the acts of a group in one transaction. Throws if nothing of it was kept, or if that cannot be known. */
  async transact(
    open: (sql: Connection) => Transaction,
    act: (tx: Transaction) => Promise<Answer[]>,
  ): Promise<Done> {
    this.#pulse.check();
    const answered = this.#pulse.wait();
    try {
      return await this.#transact(open, act);
    } finally {
      answered();
    }
  }

  async #transact(
    open: (sql: Connection) => Transaction,
    act: (tx: Transaction) => Promise<Answer[]>,
  ): Promise<Done> {
    const sql = await this.#open();
    await this.#keepRow(sql).catch((error: unknown) => {
      throw blame(error) === "connection" ? nothingStored(error) : error;
    });
    const tx = open(sql);
    const group = ++this.#group;
    let answers: Answer[] | null = null;
    try {
      answers = await act(tx);
      return { answers, tx, finished: await tx.commit({ id: this.#id, group }) };
    } catch (error) {
      if (!sql.isLost && blame(error) !== "connection") await tx.rollBack().catch(() => this.#drop());
      else await this.#drop();
      // The commit was on its way. Whether it arrived is written in the row of this lane.
      if (answers !== null && this.#sql === null && (await this.#wasKept(group)))
        return { answers, tx, finished: null };
      throw blame(error) === "connection" ? nothingStored(error) : error;
    }
  }

  async close(): Promise<void> {
    if (this.#sql !== null && !this.#sql.isLost)
      await this.#sql.run("DELETE FROM lanes WHERE id = $1", this.#id).catch(() => {});
    await this.#drop();
  }

  async #open(): Promise<Connection> {
    if (this.#sql?.isLost === true) await this.#drop();
    if (this.#sql !== null) return this.#sql;
    this.#pulse.check();
    this.#sql = await Connection.open({ ...this.#settings, silence: this.#pulse.silence });
    return this.#sql;
  }

  /** The row must be there before a commit is on its way. One that was not used for a day was removed. */
  async #keepRow(sql: Connection): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#usedAtMs > rowSureMs)
      await sql.run(
        "INSERT INTO lanes (id, last_group) VALUES ($1, 0) ON CONFLICT (id) DO UPDATE SET used_at = now()",
        this.#id,
      );
    this.#usedAtMs = nowMs;
  }

  /**
   * Says of a group whose connection was lost whether it was kept. If not, the server may still be at work on it: noting the
   * group in the row keeps it from ever being kept. The row is locked from the end of a transaction to its commit.
   */
  async #wasKept(group: number): Promise<boolean> {
    try {
      const sql = await this.#open();
      const givenUp = await sql.run(
        "UPDATE lanes SET last_group = $2 WHERE id = $1 AND last_group < $2",
        this.#id,
        group,
      );
      return givenUp === 0 && (await sql.first("SELECT 1 FROM lanes WHERE id = $1", this.#id)) !== null;
    } catch (error) {
      throw outcomeUnknown(error);
    }
  }

  async #drop(): Promise<void> {
    const sql = this.#sql;
    this.#sql = null;
    await sql?.close();
  }
}

const rowSureMs = 3_600_000;

/** The rows of lanes whose hubs are gone. One that is locked is in use. */
export const removeOldLanesText = `DELETE FROM lanes WHERE id IN (
  SELECT id FROM lanes WHERE used_at < now() - interval '1 day' FOR UPDATE SKIP LOCKED)`;
