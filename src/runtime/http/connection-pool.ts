import { connect, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "../clock/clock.ts";
import { Connection } from "./connection.ts";
import { ConnectionFailure, frozen } from "./http-exchange.ts";
import { type CallRequest, requestBytes } from "./request-bytes.ts";
import type { WholeResponse } from "./response-reader.ts";

export type PooledCall = CallRequest & {
  signal: AbortSignal | undefined;
  clock: Clock;
  /** Until the whole response has arrived. */
  timeoutMs: number;
  responseBytesMax: number;
  /** Never uses a kept connection. */
  isAlone?: boolean | undefined;
  /** Calls back if the server is found to be frozen; returns what ends that. */
  watch?: ((onFrozen: () => void) => () => void) | undefined;
};

type PoolOptions = {
  url: URL;
  /** PEM of the authority that signed the server's certificate. */
  ca: string | undefined;
  connectionsMax: number;
};

type Idle = { connection: Connection; untilMs: number };

// A hub that disappeared (power, firewall) must not cost the whole time of a long poll.
const connectMsMax = 5_000;
/** So that a connection that a firewall forgot is noticed. */
const keepAliveMs = 1_000;

/**
 * Connections to one server that are kept and used again, the one that was used last first. It exists because Node's own
 * client takes several times as long for a small call; it is for calls whose response is short, not for streams.
 */
export class ConnectionPool {
  readonly #options: PoolOptions;
  /** The one that was used last is at the end. */
  readonly #idle: Idle[] = [];
  readonly #open = new Set<Connection>();
  /** Calls that wait for a connection, in order. Each has a timer of its own, so none waits for ever. */
  readonly #waiting = new Set<() => void>();

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Resolves with every response, whatever its status. Rejects with a ConnectionFailure or the signal's reason. */
  call(call: PooledCall): Promise<WholeResponse> {
    const { signal, clock, timeoutMs } = call;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const bytes = requestBytes(this.#options.url.host, call);
      let connection: Connection | undefined;
      const settle = (): void => {
        timer.cancel();
        release?.();
        signal?.removeEventListener("abort", onAbort);
        this.#waiting.delete(begin);
      };
      const fail = (error: unknown): void => {
        settle();
        reject(error);
        connection?.destroy("given up");
      };
      const onAbort = (): void => fail(signal?.reason);
      const begin = (): void => {
        const kept = call.isAlone ? undefined : this.#take(clock);
        const used = kept ?? this.#connect(clock, timeoutMs);
        connection = used;
        used.send(bytes, call.responseBytesMax).then((response) => {
          settle();
          this.#release(used, clock);
          resolve(response);
        }, fail);
      };
      const giveUp = (reason: string): void => {
        const wasSent = connection?.isConnected === true;
        fail(new ConnectionFailure(reason, { wasStale: false, wasSent }));
      };
      const timer = clock.setTimer(() => giveUp(`no response within ${timeoutMs} ms`), timeoutMs);
      const release = call.watch?.(() => giveUp(frozen));
      signal?.addEventListener("abort", onAbort, { once: true });
      if (this.#idle.length > 0 || this.#open.size < this.#options.connectionsMax) begin();
      else this.#waiting.add(begin);
    });
  }

  /** Ends every connection; what is on its way is lost. */
  close(): void {
    for (const connection of this.#open) connection.destroy("closed");
  }

  #take(clock: Clock): Connection | undefined {
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

  #release(connection: Connection, clock: Clock): void {
    if (connection.isGone) return;
    connection.rest();
    this.#idle.push({ connection, untilMs: clock.monotonicMs() + connection.keptMs });
    this.#beginNext();
  }

  #forget(gone: Connection): void {
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

  #connect(clock: Clock, timeoutMs: number): Connection {
    const { url, ca } = this.#options;
    const isTls = url.protocol === "https:";
    const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
    const address = { host, port: Number(url.port) || (isTls ? 443 : 80) };
    const socket = isTls
      ? connectTls({ ...address, ca, minVersion: "TLSv1.3", servername: isIP(host) === 0 ? host : "" })
      : connect(address);
    socket.setNoDelay(true).setKeepAlive(true, keepAliveMs);
    const connection = new Connection(socket, () => this.#forget(connection));
    this.#open.add(connection);
    const connectMs = Math.min(timeoutMs, connectMsMax);
    const timer = clock.setTimer(() => connection.destroy(`no connection within ${connectMs} ms`), connectMs);
    socket.once(isTls ? "secureConnect" : "connect", () => {
      timer.cancel();
      connection.isConnected = true;
    });
    socket.once("close", () => timer.cancel());
    return connection;
  }
}
