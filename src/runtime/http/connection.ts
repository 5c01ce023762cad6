import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ConnectionFailure } from "./connection-failure.ts";
import { type ResponseParts, ResponseProblem, ResponseReader } from "./response-reader.ts";

/** Where the body of a request is written to, in pieces. */
export type BodyTarget = Pick<HttpConnection, "agreed" | "write">;

/** What becomes of one request. The last call is `onEnd` or `onFail`. */
export type Receiver = ResponseParts & {
  /** The response is whole. */
  onEnd(): void;
  onFail(error: ConnectionFailure): void;
};

/** Any stream of bytes; one that is a socket can be kept without keeping the process alive. */
type ByteStream = Duplex & Partial<Pick<Socket, "connecting" | "ref" | "unref">>;

type Outgoing = {
  /** The head, and the body unless it is written in pieces. */
  bytes: readonly Uint8Array[];
  responseBytesMax: number;
  isHead: boolean;
};

type PendingResponse = { reader: ResponseReader; receiver: Receiver };

/** A server that says how long it keeps a connection may close it a little earlier. */
const closesEarlyMs = 1_000;

/** One connection to a server, with one request on its way at a time. Why: ADR 0113. */
export class HttpConnection {
  readonly #socket: ByteStream;
  readonly #onGone: (() => void) | undefined;
  #pending: PendingResponse | undefined;
  #requests = 0;
  #keptMs = Number.POSITIVE_INFINITY;
  #isGone = false;
  /** Something has changed for the writer of a body. */
  #onChange: (() => void) | undefined;
  /** Before that, nothing of a request can have arrived. */
  isConnected: boolean;

  /**
   * `onGone` belongs to the pool that keeps it for more requests, and is called once when it can serve no more. A
   * connection without a pool ends with its first response.
   */
  constructor(socket: ByteStream, onGone?: () => void) {
    this.#socket = socket;
    this.#onGone = onGone;
    this.isConnected = socket.connecting !== true;
    socket.on("data", (bytes: Buffer) => this.#receive(bytes));
    socket.on("drain", () => this.#onChange?.());
    socket.once("end", () => this.#end());
    socket.once("error", (error: NodeJS.ErrnoException) => this.#fail(reasonOf(error), error));
    socket.once("close", () => this.#hangUp());
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** How long after a response it can be used again. */
  get keptMs(): number {
    return this.#keptMs;
  }

  send({ bytes, responseBytesMax, isHead }: Outgoing, receiver: Receiver): void {
    const reader = new ResponseReader(receiver, { bodyBytesMax: responseBytesMax, isBodyless: isHead });
    this.#requests++;
    this.#pending = { reader, receiver };
    if (this.#socket.destroyed) {
      // It has broken before anybody used it.
      this.#fail("ECONNRESET");
      return;
    }
    // Corked, so that all of it leaves in one write.
    this.#socket.cork();
    for (const piece of bytes) this.#socket.write(piece);
    this.#socket.uncork();
  }

  /** For a body in pieces: resolves when the server agrees to it (status 100), has answered, or is gone. */
  async agreed(): Promise<void> {
    if (this.#pending?.reader.hasStarted === false) await this.#changed();
  }

  /** Sends a piece of a body; resolves when there is room for more, with false if the rest is of no use. */
  async write(piece: Uint8Array): Promise<boolean> {
    if (this.#isAnswered) return false;
    if (!this.#socket.write(piece)) await this.#changed();
    return !this.#isAnswered;
  }

  /** The reader of the response is not ready for more of it. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** While it is idle, it does not keep the process alive. */
  rest(): void {
    this.#socket.unref?.();
  }

  wake(): void {
    this.#socket.ref?.();
  }

  /** What is on its way is lost, for this reason. */
  destroy(reason: string): void {
    this.#fail(reason);
  }

  get #isAnswered(): boolean {
    return this.#pending?.reader.hasHead !== false;
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#onChange = resolve;
    });
  }

  #receive(bytes: Buffer): void {
    const exchange = this.#pending;
    if (exchange === undefined) {
      // No request is open, so it would be taken for the answer to the next one.
      this.#fail("ECONNRESET");
      return;
    }
    try {
      const isWhole = exchange.reader.push(bytes);
      this.#onChange?.();
      // The receiver may have ended it meanwhile.
      if (isWhole && this.#pending === exchange) this.#finish(exchange);
    } catch (error) {
      if (!(error instanceof ResponseProblem)) throw error;
      this.#leave();
      exchange.receiver.onFail(error);
    }
  }

  #finish({ reader, receiver }: PendingResponse): void {
    this.#pending = undefined;
    this.#keptMs = reader.keptSec * 1000 - closesEarlyMs;
    // A request that was answered before all of it was sent leaves the rest of it on the connection.
    const isClean = reader.keepsConnection && this.#socket.writableLength === 0;
    if (this.#onGone === undefined || !isClean || this.#keptMs <= 0) this.#leave();
    receiver.onEnd();
  }

  #end(): void {
    const exchange = this.#pending;
    if (exchange?.reader.end()) this.#finish(exchange);
    this.#hangUp();
  }

  #hangUp(): void {
    this.#fail("ECONNRESET", new Error("socket hang up"));
  }

  #fail(reason: string, cause?: Error): void {
    const exchange = this.#pending;
    this.#leave();
    const wasStale = this.#requests > 1 && exchange?.reader.hasStarted === false;
    exchange?.receiver.onFail(new ConnectionFailure(reason, { wasStale, wasSent: this.isConnected, cause }));
  }

  #leave(): void {
    this.#pending = undefined;
    this.#socket.destroy();
    this.#onChange?.();
    if (this.#isGone) return;
    this.#isGone = true;
    this.#onGone?.();
  }
}

/** The server speaks TLS, but not HTTP/1.1 in it. Node tells that only in a sentence of OpenSSL. */
export const otherProtocol = "NO_APPLICATION_PROTOCOL";

function reasonOf(error: NodeJS.ErrnoException): string {
  const isRefused = error.code === "EPROTO" && error.message.includes("SSL alert number 120");
  return isRefused ? otherProtocol : (error.code ?? error.message);
}
