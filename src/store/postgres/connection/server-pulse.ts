import { Connection } from "./connection.ts";
import { isServerAnswer, silentServer } from "./postgres-error.ts";

/** Nearly every call is answered by then. */
const askAfterMs = 2_000;
/** What takes long for good reason is looked after at longer intervals. */
const askAgainMs = 10_000;
/** A server that works answers a question that costs it nothing. */
const answerMs = 2_000;
const lookMs = 500;

/**
 * Tells a server that is busy from one that is silent: frozen, or behind a network that loses everything. Connections to
 * such a server stay open, and nothing ever comes back. While a call has waited for long, the server is asked for a sign of
 * life. If there is none, every connection is given up, and calls are refused at once until the server answers again.
 * Why: ADR 0089.
 */
export class ServerPulse {
  readonly #url: string;
  /** When the server is to be asked because of a call that waits. */
  readonly #waiting = new Set<{ askAtMs: number }>();
  readonly #onSilent = new Set<() => void>();
  #silence = new AbortController();
  #timer: NodeJS.Timeout | null = null;
  #isAsking = false;

  constructor(url: string) {
    this.#url = url;
  }

  /** For connections: aborted when the server falls silent. */
  get silence(): AbortSignal {
    return this.#silence.signal;
  }

  /** Throws while the server is known to be silent. */
  check(): void {
    if (this.silence.aborted) throw silentServer();
  }

  onSilent(listener: () => void): void {
    this.#onSilent.add(listener);
  }

  /** A call begins that needs the server. Returns what is to be called when it has ended. */
  wait(): () => void {
    const call = { askAtMs: performance.now() + askAfterMs };
    this.#waiting.add(call);
    this.#timer ??= setInterval(() => void this.#look(), lookMs).unref();
    return () => this.#waiting.delete(call);
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#waiting.clear();
  }

  async #look(): Promise<void> {
    const nowMs = performance.now();
    const due = [...this.#waiting].filter(({ askAtMs }) => askAtMs <= nowMs);
    if (this.#isAsking || (due.length === 0 && !this.silence.aborted)) return;
    this.#isAsking = true;
    const isAlive = await this.#ask();
    this.#isAsking = false;
    for (const call of due) call.askAtMs = nowMs + askAgainMs;
    if (isAlive && this.silence.aborted) this.#silence = new AbortController();
    if (isAlive || this.silence.aborted) return;
    this.#silence.abort();
    for (const listener of this.#onSilent) listener();
  }

  /** On a connection of its own. A server that refuses it in words is alive too. */
  async #ask(): Promise<boolean> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), answerMs);
    try {
      const sql = await Connection.open({ url: this.#url, silence: late.signal });
      void sql.close();
      return true;
    } catch (error) {
      return isServerAnswer(error);
    } finally {
      clearTimeout(timer);
    }
  }
}
