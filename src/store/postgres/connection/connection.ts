import { randomInt } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import type { DatabaseInUse } from "../../database/database-in-use.ts";
import { compareDatabase, isDropped } from "../database/compare-database.ts";
import { connectionsMax, endConnectionsText, markConnectionText } from "./locks.ts";
import { blame, isAborted, unreachable } from "./postgres-error.ts";

export type SqlValue = string | number | boolean | null | Uint8Array | readonly (string | number | null)[];

/** Our tables are apart from whatever else is in the database. */
export const schema = "writ";

export type ConnectionSettings = {
  url: string;
  /** For hubs that stay silent inside a transaction: it is given up, and the others go on. */
  idleInTransactionMs?: number;
  /**
   * For the few statements that write, over and over: each is planned once, for any values, and always by an index. A plan
   * that was made while a table was small would read all of it when it is large.
   */
  isHot?: boolean;
  /** Aborted when the server is silent: then nothing is waited for any more, also not for the start of a connection. */
  silence?: AbortSignal;
  /** For hubs: once they use a database, every new connection is compared with it, before anything else is done on it. */
  inUse?: DatabaseInUse;
  /**
   * Numbers of connections that were lost while the server was at work for them. If it has received only a part of what was
   * sent, it waits for the rest, with all its locks, and no timeout of its own ends that: the next connection does.
   */
  leftBehind?: Set<number>;
};

const hotText = `; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
  SET enable_mergejoin = off`;

const connectWithinMs = 10_000;
/** What a lost connection has begun is nearly always over by then; if not, calls wait for its locks. */
const endingTriesMax = 20;
const endingMs = 50;

/**
 * One connection. Statements are sent at once, without a wait for the answers of those before them, and each is prepared
 * once. A lost connection stays lost: its holder opens another. Why: ADR 0079, ADR 0087.
 */
export class Connection {
  readonly #client: pg.Client;
  readonly #number = randomInt(connectionsMax);
  readonly #leftBehind: Set<number>;
  readonly #names = new Map<string, string>();
  readonly #onLost: (() => void)[] = [];
  #lost: Error | null = null;
  /** The last failure that was not a consequence of another one. */
  #failure: unknown = null;

  private constructor(client: pg.Client, leftBehind: Set<number>) {
    this.#client = client;
    this.#leftBehind = leftBehind;
    client.on("error", (error) => this.#lose(error));
    client.on("end", () => this.#lose(new Error("the connection was closed")));
  }

  static async open({
    url,
    idleInTransactionMs = 3_000,
    isHot = false,
    silence,
    inUse,
    leftBehind = new Set(),
  }: ConnectionSettings): Promise<Connection> {
    const client = new pg.Client({
      connectionString: url,
      application_name: "writ",
      connectionTimeoutMillis: connectWithinMs,
      keepAlive: true,
      pipeline: true,
      types: { getTypeParser: (oid, format) => parserOf(oid) ?? pg.types.getTypeParser(oid, format) },
    } as pg.ClientConfig);
    const connection = new Connection(client, leftBehind);
    connection.#heed(silence);
    try {
      await client.connect();
      await client.query(
        `SET search_path = ${schema}, pg_catalog; SET idle_in_transaction_session_timeout = ${idleInTransactionMs};
          SET client_encoding = 'UTF8'; SET jit = off; SET default_transaction_isolation = 'read committed'${isHot ? hotText : ""};
          ${markConnectionText(connection.#number)}`,
      );
      if (inUse?.isOpen) await compareDatabase(connection, inUse);
      await connection.#endLeftBehind();
      if (inUse !== undefined) connection.onLost(inUse.onOther(() => connection.destroy()));
      return connection;
    } catch (error) {
      await connection.close();
      throw inUse !== undefined && isDropped(error, inUse)
        ? inUse.lost("does not exist any more")
        : unreachable(error, url);
    }
  }

  get isLost(): boolean {
    return this.#lost !== null;
  }

  /** The process of the server that this connection was told of when it began. */
  get processId(): number | null {
    return (this.#client as unknown as { processID: number | null }).processID;
  }

  /** The rows of a statement. Texts are constants of this room, or built from a fixed set of columns. */
  async all<Row>(text: string, ...values: SqlValue[]): Promise<Row[]> {
    return (await this.#query(text, values)).rows as Row[];
  }

  /** The same with each row as a list, which takes a third of the time if it is long. */
  async rows(text: string, ...values: SqlValue[]): Promise<unknown[][]> {
    return (await this.#query(text, values, "array")).rows as unknown[][];
  }

  async first<Row>(text: string, ...values: SqlValue[]): Promise<Row | null> {
    return (await this.all<Row>(text, ...values))[0] ?? null;
  }

  /** How many rows the statement changed. */
  async run(text: string, ...values: SqlValue[]): Promise<number> {
    return (await this.#query(text, values)).rowCount ?? 0;
  }

  /** Several statements from a file of this room, or one that is not prepared. */
  async script(text: string): Promise<void> {
    await this.#blamed(this.#client.query(text));
  }

  /** Throws the cause if a statement of the transaction has failed: then the server answers a commit with ROLLBACK. */
  async commit(): Promise<void> {
    const { command } = await this.#blamed(this.#client.query("COMMIT"));
    if (command !== "COMMIT") throw this.#failure ?? new Error("the transaction was rolled back");
  }

  /** Calls the listener with the payload of what other connections announce on a channel. */
  async listen(channel: string, onPayload: (payload: string) => void): Promise<void> {
    this.#client.on("notification", ({ payload, processId }) => {
      if (processId !== this.processId) onPayload(payload ?? "");
    });
    await this.script(`LISTEN ${channel}`);
  }

  /** Called once, as soon as it is noticed that the connection is gone. */
  onLost(listener: () => void): void {
    this.#onLost.push(listener);
  }

  /** Closes it at once: the server may not answer any more. */
  destroy(): void {
    (this.#client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    this.#lose(new Error("the server did not answer in time"));
  }

  #heed(silence: AbortSignal | undefined): void {
    if (silence === undefined) return;
    const destroy = (): void => this.destroy();
    silence.addEventListener("abort", destroy, { once: true });
    this.onLost(() => silence.removeEventListener("abort", destroy));
  }

  /** Everything that is sent in here leaves in one write. */
  together<T>(send: () => T): T {
    const { stream } = (this.#client as unknown as { connection: { stream: Corked } }).connection;
    stream.cork();
    try {
      return send();
    } finally {
      stream.uncork();
    }
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => {});
  }

  #query(text: string, values: SqlValue[], rowMode?: "array"): Promise<pg.QueryResult> {
    if (this.#lost !== null) return Promise.reject(this.#lost);
    let name = this.#names.get(text);
    if (name === undefined) {
      name = `w${this.#names.size}`;
      this.#names.set(text, name);
    }
    const query = { name, text, values: values.map(toParameter), rowMode };
    return this.#blamed(this.#client.query(query as pg.QueryConfig));
  }

  /**
   * Of a statement after a failed one, the server says only that its transaction is aborted. Statements are sent without
   * waiting, so that may be the first failure that a caller sees. All of them are blamed on the one that failed, because
   * it decides whether the transaction is tried again. Answers arrive in the order of the statements.
   */
  async #blamed<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (!isAborted(error)) this.#failure = error;
      if (blame(error) === "connection") this.#leftBehind.add(this.#number);
      throw this.#failure ?? error;
    }
  }

  async #endLeftBehind(): Promise<void> {
    for (let tries = 0; this.#leftBehind.size > 0 && tries < endingTriesMax; tries++) {
      if (tries > 0) await setTimeout(endingMs);
      const asked = [...this.#leftBehind];
      const left = await this.all<{ number: number }>(endConnectionsText, asked);
      const numbers = new Set(left.map(({ number }) => number));
      for (const number of asked) if (!numbers.has(number)) this.#leftBehind.delete(number);
    }
  }

  #lose(error: Error): void {
    if (this.#lost !== null) return;
    this.#lost = error;
    for (const listener of this.#onLost) listener();
  }
}

type Corked = { cork(): void; uncork(): void };

/** A text of PostgreSQL holds every character but one. */
function toParameter(value: SqlValue): unknown {
  if (typeof value === "string") return value.includes("\0") ? value.replaceAll("\0", "\uFFFD") : value;
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.length) : value;
}

/** A value as a parameter of type json. Half of a surrogate pair is no character either. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!/\\u(?:0000|d[89a-f])/.test(text)) return text;
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === "string" ? member.toWellFormed().replaceAll("\0", "\uFFFD") : member,
  );
}

const int8 = 20;
const numeric = 1700;

/** All our numbers are safe integers. */
function parserOf(oid: number): ((text: string) => unknown) | undefined {
  return oid === int8 || oid === numeric ? Number : undefined;
}
