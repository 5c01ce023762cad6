import { randomUUID } from "node:crypto";
import { Connection, type ConnectionSettings } from "../connection/connection.ts";

const channel = "writ_outputs";
/** Appends that come closer together than this share a message. */
const gatherMs = 20;
/** After a lost connection; followers look by themselves meanwhile. */
const reopenMs = 1_000;
const endLength = 8;
/** A message of PostgreSQL has 7,999 bytes; what does not fit is not named, and everybody looks. */
const jobsMax = 900;

type Listener = (jobEnd: string | null) => void;

/**
 * Tells other hubs of which jobs output has changed, and hears it from them. Messages are sent after the commit, merged, and
 * may be lost. A hub listens from its first listener on. Why: ADR 0085.
 */
export class OutputNotices {
  readonly #settings: ConnectionSettings;
  readonly #send: (channel: string, text: string) => Promise<unknown>;
  readonly #id = randomUUID().slice(-endLength);
  readonly #listeners = new Set<Listener>();
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<unknown> = Promise.resolve();
  #listening: Promise<Connection | null> | null = null;
  #reopening: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(settings: ConnectionSettings, send: (channel: string, text: string) => Promise<unknown>) {
    this.#settings = settings;
    this.#send = send;
  }

  changed(jobId: string): void {
    this.#changed.add(endOf(jobId));
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => this.#flush(), gatherMs).unref();
  }

  onHeard(listener: Listener): () => void {
    this.#listeners.add(listener);
    this.#listening ??= this.#listen();
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#reopening !== null) clearTimeout(this.#reopening);
    if (this.#changed.size > 0) this.#flush();
    await this.#sending;
    await (await this.#listening)?.close();
  }

  #flush(): void {
    const ends = this.#changed.size > jobsMax ? "*" : [...this.#changed].join("");
    this.#changed.clear();
    this.#timer = null;
    // One that is lost costs its followers a second.
    this.#sending = this.#send(channel, `${this.#id}${ends}`).catch(() => {});
  }

  async #listen(): Promise<Connection | null> {
    try {
      const sql = await Connection.open(this.#settings);
      sql.onLost(() => this.#reopen());
      await sql.listen(channel, (payload) => this.#hear(payload));
      // What was announced before this hub listened is not known.
      this.#tell(null);
      return sql;
    } catch {
      this.#reopen();
      return null;
    }
  }

  #reopen(): void {
    if (this.#isClosed) return;
    this.#reopening ??= setTimeout(() => {
      this.#reopening = null;
      this.#listening = this.#listen();
    }, reopenMs).unref();
  }

  #hear(payload: string): void {
    if (this.#isClosed || payload.startsWith(this.#id)) return;
    const ends = payload.slice(endLength);
    if (ends === "*") this.#tell(null);
    else for (let at = 0; at < ends.length; at += endLength) this.#tell(ends.slice(at, at + endLength));
  }

  #tell(jobEnd: string | null): void {
    for (const listener of this.#listeners) listener(jobEnd);
  }
}

/** Ids end with random digits; two jobs with one end cost one look too many. */
function endOf(jobId: string): string {
  return jobId.slice(-endLength).padStart(endLength, "0");
}
