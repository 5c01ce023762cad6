import type { Clock } from "../clock/clock.ts";
import type { HttpConnection } from "./connection.ts";
import { type ConnectOptions, connectMsMax, openConnection } from "./open-connection.ts";
import { callWhole, type FindConnection, type HttpCall, type WholeResponse } from "./open-request.ts";

export type PooledCall = Omit<HttpCall, "host"> & {
  clock: Clock;
  body: Uint8Array | undefined;
  timeoutMs: number;
  responseBytesMax: number;
  /** Never uses a kept connection. */
  isAlone?: boolean | undefined;
};

type PoolOptions = {
  url: URL;
  tls?: ConnectOptions["tls"];
  connectionsMax: number;
};

type Idle = { connection: HttpConnection; untilMs: number };

/** So that a connection that a firewall forgot is noticed. */
const keepAliveMs = 1_000;

/**
 * Connections to one server that are kept and used again, the one that was used last first. It is for calls whose
 * response is short, not for streams. Why: ADR 0060, ADR 0113.
 */
export class ConnectionPool {
  readonly #options: PoolOptions;
  /** The one that was used last is at the end. */
  readonly #idle: Idle[] = [];
  readonly #open = new Set<HttpConnection>();
  /** Calls that wait for a connection, in order. Each has a timer of its own, so none waits for ever. */
  readonly #waiting = new Set<() => void>();

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Resolves with every response, whatever its status. Rejects as `callWhole` does. */
  async call(call: PooledCall): Promise<WholeResponse> {
    let used: HttpConnection | undefined;
    const find: FindConnection = (found) => {
      const begin = (): void => {
        used = (call.isAlone ? undefined : this.#take(call.clock)) ?? this.#connect(call);
        found(used);
      };
      if (this.#idle.length > 0 || this.#open.size < this.#options.connectionsMax) begin();
      else this.#waiting.add(begin);
      return () => this.#waiting.delete(begin);
    };
    const response = await callWhole({ ...call, host: this.#options.url.host }, find);
    this.#release(used!, call.clock);
    return response;
  }

  /** Ends every connection; what is on its way is lost. */
  close(): void {
    for (const connection of this.#open) connection.destroy("closed");
  }

  #take(clock: Clock): HttpConnection | undefined {
    for (;;) {
      const idle = this.#idle.pop();
      if (idle === undefined) return undefined;
      if (idle.untilMs > clock.monotonicMs()) {
        idle.connection.wake();
        return idle.connection;
      }
      idle.connection.destroy("too old");
    }
  }

  #release(connection: HttpConnection, clock: Clock): void {
    if (connection.isGone) return;
    connection.rest();
    this.#idle.push({ connection, untilMs: clock.monotonicMs() + connection.keptMs });
    this.#beginNext();
  }

  #forget(gone: HttpConnection): void {
    this.#open.delete(gone);
    const index = this.#idle.findIndex(({ connection }) => connection === gone);
    if (index !== -1) this.#idle.splice(index, 1);
    this.#beginNext();
  }

  #beginNext(): void {
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    next();
  }

  #connect({ clock }: PooledCall): HttpConnection {
    const { url, tls } = this.#options;
    const connection: HttpConnection = openConnection(url, {
      clock,
      connectMs: connectMsMax,
      ...(tls && { tls }),
      onSocket: (socket) => socket.setKeepAlive(true, keepAliveMs),
      onGone: () => this.#forget(connection),
    });
    this.#open.add(connection);
    return connection;
  }
}
