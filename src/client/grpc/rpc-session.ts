import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import { untilAborted } from "../../runtime/clock/until-aborted.ts";
import type { RpcTarget } from "./find-rpc.ts";

// A connection that is in use is pinged this often, and given up if there is no answer: otherwise a stream of a silent
// job would wait for ever on a machine that was switched off. One that was not used for as long is pinged before a call.
const pingMs = 20_000;
const pongMs = 10_000;
// How much may be in flight to us: on a fast connection with high latency, less would slow down an output.
const windowBytes = 8 * 1024 * 1024;
// A hub that accepts a connection and closes it at once is not asked for ever.
const opensMax = 2;

/**
 * Requests to one hub over HTTP/2, TLS 1.3 and a client certificate. It connects at the first one, and again if needed.
 * Why: ADR 0115.
 */
export class RpcSession {
  readonly #target: RpcTarget;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  #current: Promise<Http2Connection> | undefined;

  constructor(target: RpcTarget, clock: Clock) {
    this.#target = target;
    this.#clock = clock;
  }

  /** The signal ends the request, or the wait for a connection. */
  async request(headers: OutgoingHttpHeaders, signal: AbortSignal): Promise<ClientHttp2Stream> {
    return (await untilAborted(this.#ready(), signal)).request(headers, signal);
  }

  /** Ends what is in progress, too. */
  close(): void {
    this.#closing.abort();
  }

  async #ready(): Promise<Http2Connection> {
    for (let opens = 0; ; opens++) {
      const connection = await this.#open();
      if (await connection.isAlive()) return connection;
      if (this.#closing.signal.aborted || opens === opensMax) throw new Error("the connection was closed");
      this.#current = undefined;
    }
  }

  /** Callers at the same time share one connection. One that failed must not be kept. */
  #open(): Promise<Http2Connection> {
    this.#current ??= openConnection(this.#target, this.#clock, this.#closing.signal).catch((error) => {
      this.#current = undefined;
      throw error;
    });
    return this.#current;
  }
}

function openConnection(
  { host, port, ca, cert, key }: RpcTarget,
  clock: Clock,
  closing: AbortSignal,
): Promise<Http2Connection> {
  return new Promise((resolve, reject) => {
    const session = connect(`https://${host}:${port}`, {
      ca,
      cert,
      key,
      minVersion: "TLSv1.3",
      settings: { initialWindowSize: windowBytes },
    });
    session.once("connect", () => {
      // The settings concern only the streams.
      session.setLocalWindowSize(windowBytes);
      resolve(new Http2Connection(session, clock));
    });
    session.on("error", reject);
    const onClosing = (): void => session.destroy();
    closing.addEventListener("abort", onClosing);
    session.once("close", () => {
      closing.removeEventListener("abort", onClosing);
      reject(new Error("the connection was closed"));
    });
    if (closing.aborted) onClosing();
  });
}

class Http2Connection {
  readonly #session: ClientHttp2Session;
  readonly #clock: Clock;
  #streams = 0;
  #answeredMs: number;
  #nextPing: Timer | undefined;

  constructor(session: ClientHttp2Session, clock: Clock) {
    this.#session = session;
    this.#clock = clock;
    this.#answeredMs = clock.monotonicMs();
    // A program that has forgotten to close its client can still end.
    session.unref();
  }

  /** Whether a request can be made: it is open, and has answered recently. */
  async isAlive(): Promise<boolean> {
    if (this.#session.closed || this.#session.destroyed) return false;
    return this.#clock.monotonicMs() - this.#answeredMs <= pingMs || this.#ping();
  }

  request(headers: OutgoingHttpHeaders, signal: AbortSignal): ClientHttp2Stream {
    const stream = this.#session.request(headers);
    this.#use();
    // After the end there is nothing to reset, and a hub counts resets.
    const hangUp = (): void => {
      if (!stream.readableEnded) stream.close(constants.NGHTTP2_CANCEL);
    };
    if (signal.aborted) hangUp();
    signal.addEventListener("abort", hangUp, { once: true });
    stream.once("response", () => {
      this.#answeredMs = this.#clock.monotonicMs();
    });
    stream.once("close", () => this.#release());
    return stream;
  }

  #use(): void {
    if (this.#streams++ > 0) return;
    this.#session.ref();
    this.#pingLater();
  }

  #release(): void {
    if (--this.#streams > 0) return;
    this.#session.unref();
    this.#nextPing?.cancel();
  }

  #pingLater(): void {
    this.#nextPing = this.#clock.setTimer(() => {
      void this.#ping().then((isThere) => isThere && this.#streams > 0 && this.#pingLater());
    }, pingMs);
  }

  #ping(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    if (this.#session.destroyed) return Promise.resolve(false);
    const silent = new Error(`no answer to a ping within ${pongMs / 1000} s`);
    const late = this.#clock.setTimer(() => this.#session.destroy(silent), pongMs);
    this.#session.ref();
    this.#session.ping((error) => {
      late.cancel();
      if (this.#streams === 0) this.#session.unref();
      if (error === null) this.#answeredMs = this.#clock.monotonicMs();
      resolve(error === null);
    });
    return promise;
  }
}
