import { WritError } from "../../../core/errors.ts";
import { Connection, type ConnectionSettings } from "../connection/connection.ts";
import { blame, storeUnavailable } from "../connection/postgres-error.ts";
import type { ServerPulse } from "../connection/server-pulse.ts";

const readersMax = 4;
const waitingMax = 100_000;

/** Connections for what needs no place in a group; each is used by one act at a time. Why: ADR 0080. */
export class Readers {
  readonly #settings: ConnectionSettings;
  readonly #pulse: ServerPulse;
  readonly #idle: Connection[] = [];
  readonly #waiting: (() => void)[] = [];
  #open = 0;
  #isClosed = false;
  readonly #ended = Promise.withResolvers<void>();

  constructor(settings: ConnectionSettings, pulse: ServerPulse, first: Connection) {
    this.#settings = settings;
    this.#pulse = pulse;
    // Each is then refused, instead of waiting for a connection that is never given back.
    pulse.onSilent(() => {
      for (const wake of this.#waiting.splice(0)) wake();
    });
    this.#idle.push(first);
  }

  /** A read whose connection was lost is done once more on another one. */
  async read<T>(use: (sql: Connection) => Promise<T>): Promise<T> {
    try {
      return await this.use(use);
    } catch (error) {
      if (blame(error) !== "connection" || this.#isClosed) throw error;
      return this.use(use).catch((again: unknown) => {
        throw blame(again) === "connection" ? storeUnavailable(again) : again;
      });
    }
  }

  async use<T>(use: (sql: Connection) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new WritError("STORE_UNAVAILABLE", "the store is closed");
    if (this.#waiting.length >= waitingMax)
      throw new WritError("STORE_UNAVAILABLE", `${waitingMax} calls are already waiting`);
    this.#pulse.check();
    if (this.#open >= readersMax) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#pulse.check();
    this.#open++;
    const answered = this.#pulse.wait();
    let sql: Connection | null = null;
    let isSpoiled = false;
    try {
      sql = this.#takeIdle() ?? (await Connection.open({ ...this.#settings, silence: this.#pulse.silence }));
      return await use(sql);
    } catch (error) {
      // That it has ended may be heard later than its first failure, and until then others would be lent it.
      isSpoiled = blame(error) === "connection";
      throw error;
    } finally {
      answered();
      this.#open--;
      if (sql !== null) this.#giveBack(sql, isSpoiled);
      this.#waiting.shift()?.();
      if (this.#isClosed && this.#open === 0) this.#ended.resolve();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#open > 0) await this.#ended.promise;
    await Promise.all(this.#idle.splice(0).map((sql) => sql.close()));
  }

  #takeIdle(): Connection | null {
    for (let sql = this.#idle.pop(); sql !== undefined; sql = this.#idle.pop()) {
      if (!sql.isLost) return sql;
    }
    return null;
  }

  #giveBack(sql: Connection, isSpoiled: boolean): void {
    // The end of a lost connection is not awaited: it may take long.
    if (sql.isLost || isSpoiled) void sql.close();
    else this.#idle.push(sql);
  }
}
