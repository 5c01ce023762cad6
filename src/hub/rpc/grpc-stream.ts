import { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import { statusMessage } from "./status-message.ts";

/** The request of a stream is a few short fields. */
const requestBytesMax = 64 * 1024;
/** A client that accepts nothing for this long is gone. */
const stuckMs = 120_000;
/** How long an ending may take to reach a client that does not read. */
const endMs = 1_000;

/** A call whose messages are framed by hand: reads its request, writes with back-pressure, ends with a status. */
export class GrpcStream {
  readonly #request: Http2ServerRequest;
  readonly #response: Http2ServerResponse;
  readonly #clock: Clock;
  readonly #hangUp = new AbortController();
  /** Resolves when the latest write has been sent; false if it never will be. */
  #gone: Promise<boolean> = Promise.resolve(true);

  constructor(request: Http2ServerRequest, response: Http2ServerResponse, clock: Clock) {
    this.#request = request;
    this.#response = response;
    this.#clock = clock;
    request.on("error", () => this.#cancel());
    response.on("error", () => this.#cancel());
    request.stream.once("close", () => this.#cancel());
    this.#watchDeadline(request.headers["grpc-timeout"]);
  }

  /** Aborted when the client has hung up, or its deadline has passed. */
  get signal(): AbortSignal {
    return this.#hangUp.signal;
  }

  /** Everything that the client sends before it closes its side. */
  readRequest(): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const parts: Buffer[] = [];
    let size = 0;
    this.#request.on("data", (part: Buffer) => {
      size += part.length;
      if (size <= requestBytesMax) parts.push(part);
      else reject(new WritError("TOO_LARGE", `a request may have at most ${requestBytesMax} bytes`));
    });
    this.#request.once("end", () => resolve(Buffer.concat(parts)));
    this.signal.addEventListener("abort", () => reject(this.signal.reason), { once: true });
    return promise;
  }

  begin(): void {
    if (this.#response.headersSent || this.#isGone) return;
    this.#response.writeHead(200, {
      "content-type": "application/grpc+proto",
      "grpc-accept-encoding": "identity",
    });
  }

  /**
   * Passes the bytes on and resolves when the previous ones have been sent: one write waits while another is in
   * progress, so that the next read can happen meanwhile, and a slow client holds at most two.
   */
  async write(bytes: Uint8Array, signal: AbortSignal): Promise<{ gone: Promise<boolean> }> {
    signal.throwIfAborted();
    const before = this.#gone;
    const { promise: gone, resolve } = Promise.withResolvers<boolean>();
    this.#gone = gone;
    this.#response.write(bytes, (error?: Error | null) => resolve(!error));
    await this.#orAborted(before, signal);
    return { gone };
  }

  async #orAborted(awaited: Promise<unknown>, signal: AbortSignal): Promise<void> {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    const proceed = () => resolve();
    const stuck = this.#clock.setTimer(() => this.#reset(), stuckMs);
    signal.addEventListener("abort", proceed);
    await Promise.race([awaited, aborted]);
    stuck.cancel();
    signal.removeEventListener("abort", proceed);
    signal.throwIfAborted();
  }

  end(error?: ConnectError): void {
    if (this.#isGone) return;
    this.begin();
    this.#response.addTrailers(trailersOf(error));
    this.#response.end();
    if (error === undefined) return;
    // The data before the status may no longer be wanted, and the call must end anyway.
    const late = this.#clock.setTimer(() => this.#reset(), endMs);
    this.#request.stream.once("close", () => late.cancel());
  }

  get #isGone(): boolean {
    const { stream } = this.#request;
    return stream.closed || stream.destroyed;
  }

  #reset(): void {
    this.#request.stream.close(constants.NGHTTP2_CANCEL);
  }

  #cancel(): void {
    this.#hangUp.abort(new ConnectError("the call was cancelled", Code.Canceled));
  }

  #watchDeadline(header: string | string[] | undefined): void {
    const ms = deadlineMs(header);
    if (ms === null) return;
    const late = () => this.#hangUp.abort(new ConnectError("the deadline has passed", Code.DeadlineExceeded));
    const timer = this.#clock.setTimer(late, ms);
    this.#request.stream.once("close", () => timer.cancel());
  }
}

const unitMs: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** `grpc-timeout` as gRPC writes it, such as 1500m. An unreadable one is ignored. */
function deadlineMs(header: string | string[] | undefined): number | null {
  const match = /^(\d{1,8})([HMSmun])$/.exec(String(header ?? ""));
  return match === null ? null : Number(match[1]) * unitMs[match[2]!]!;
}

function trailersOf(error: ConnectError | undefined): Record<string, string> {
  if (error === undefined) return { "grpc-status": "0" };
  return {
    ...Object.fromEntries(error.metadata),
    "grpc-status": String(error.code),
    "grpc-message": statusMessage(error.rawMessage),
  };
}
