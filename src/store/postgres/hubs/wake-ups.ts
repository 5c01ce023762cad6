import type { CommitNotice } from "../../event-store.ts";
import { Connection, type ConnectionSettings } from "../connection/connection.ts";
import { joinListenersText, listenerPids } from "../connection/locks.ts";
import { SeenVersions } from "./seen-versions.ts";
import { type Committed, lookAgain, readMessage, WakeMessage } from "./wake-message.ts";

/** Messages may be lost; then this is how late a commit of another store is noticed. */
const pollMs = 1_000;
/** A commit may be visible a little before the message of it arrives. */
const messageMs = 250;
/** Commits that come closer together than this share a message. */
const gatherMs = 5;
const answerMs = 3_000;
const channel = "writ_commits";

type State = { version: number; last: number; listeners: number };

/**
 * Tells other stores on the database of the commits of this one, and hears of theirs. A message is sent after the commit,
 * on a connection of its own: PostgreSQL lets only one transaction that announces something commit at a time. Nothing
 * depends on a message: a version whose message was lost is noticed with the next poll. Why: ADR 0083.
 */
export class WakeUps {
  readonly #settings: ConnectionSettings;
  readonly #hear: (notice: CommitNotice) => void;
  readonly #seen = new SeenVersions();
  readonly #closing = new AbortController();
  #sql: Connection | null = null;
  #running: Promise<void> | null = null;
  /** Other stores that listen, as of the last poll. */
  #others = 0;
  #message = new WakeMessage();
  #isGathering = false;
  #sending: Promise<void> = Promise.resolve();

  constructor(settings: ConnectionSettings, hear: (notice: CommitNotice) => void) {
    this.#settings = settings;
    this.#hear = hear;
  }

  /** A store without a listener sends no messages either: it is a command, and others notice what it wrote. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** This store has committed; its own listeners know already. */
  committed(committed: Committed): void {
    if (this.#running === null) return;
    if (committed.version !== null) this.#seen.add(committed.version);
    if (this.#others === 0) return;
    this.#message.add(committed);
    if (this.#isGathering || this.#message.isEmpty) return;
    this.#isGathering = true;
    setTimeout(() => {
      this.#sending = this.#sending.then(() => this.#send());
    }, gatherMs).unref();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
    await this.#sending;
    await this.#drop();
  }

  /** What is committed while one is on its way waits for the next. */
  async #send(): Promise<void> {
    const text = this.#message.text();
    this.#message = new WakeMessage();
    this.#isGathering = false;
    const sql = this.#sql;
    if (sql !== null && !sql.isLost) await sql.all("SELECT pg_notify($1, $2)", channel, text).catch(() => {});
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.#poll(signal);
      } catch {
        // The database is away. Callers of the store get that error; this waits until it is back.
        this.#others = 0;
        await this.#drop();
      }
      await pause(pollMs, signal);
    }
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const late = setTimeout(() => this.#sql?.destroy(), answerMs);
    try {
      const sql = await this.#open();
      const { version, last, listeners } = (await sql.first<State>(stateText))!;
      this.#others = listeners - 1;
      if (this.#seen.isMissing(version)) await pause(messageMs, signal);
      if (signal.aborted) return;
      if (this.#seen.isMissing(version)) this.#hear(lookAgain(last));
      this.#seen.skipTo(version);
    } finally {
      clearTimeout(late);
    }
  }

  async #open(): Promise<Connection> {
    if (this.#sql?.isLost === true) await this.#drop();
    if (this.#sql !== null) return this.#sql;
    const sql = await Connection.open(this.#settings);
    await sql.listen(channel, (payload) => this.#onPayload(payload));
    await sql.all(joinListenersText);
    this.#sql = sql;
    return sql;
  }

  #onPayload(payload: string): void {
    if (this.#closing.signal.aborted) return;
    let heard: ReturnType<typeof readMessage>;
    try {
      heard = readMessage(payload);
    } catch {
      // Of a version that writes other messages, or of a stranger. The poll notices whatever it was about.
      return;
    }
    for (const [first, last] of heard.versions) this.#seen.add(first, last);
    this.#hear(heard.notice);
  }

  async #drop(): Promise<void> {
    const sql = this.#sql;
    this.#sql = null;
    await sql?.close();
  }
}

const stateText = `SELECT version, last, (SELECT count(*) FROM ${listenerPids} AS pids) AS listeners FROM log_state`;

/** Ends early when the store is closed. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    timer.unref();
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}
