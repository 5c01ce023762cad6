import { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { type CallStatus, statusHeaders } from "../../runtime/grpc/call-status.ts";
import { MessageReader } from "../../runtime/grpc/message-frames.ts";
import { CallEnded } from "./rpc-error.ts";

/** How long the first message of a request may take to arrive. */
const requestMs = 60_000;
/** A client that accepts nothing for this long counts as gone. */
const stuckMs = 120_000;
/** How long the final status may take to reach a client that does not read. */
const endMs = 1_000;

type Http2Exchange = {
  request: Http2ServerRequest;
  response: Http2ServerResponse;
  messageBytesMax: number;
};

/** A call whose messages are framed by hand: reads its request, writes with back-pressure, ends with a status. */
export class GrpcStream {
  readonly #request: Http2ServerRequest;
  readonly #response: Http2ServerResponse;
  readonly #messageBytesMax: number;
  readonly #clock: Clock;
  readonly #hangUp = new AbortController();
  /** Resolves when the latest write has been sent; false if it never will be. */
  #gone: Promise<boolean> = Promise.resolve(true);

  constructor({ request, response, messageBytesMax }: Http2Exchange, clock: Clock) {
    this.#request = request;
    this.#response = response;
    this.#messageBytesMax = messageBytesMax;
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

  /** The only message of the request. */
  async readMessage(): Promise<Buffer> {
    let only: Buffer | undefined;
    for await (const message of this.readMessages()) {
      if (only !== undefined) throw broken("must contain exactly one message");
      only = message;
    }
    if (only === undefined) throw broken("contains no message");
    return only;
  }

  /** All messages of the request, until the client closes its side. Throws the signal's reason when it is aborted. */
  async *readMessages(): AsyncGenerator<Buffer> {
    const bytesMax = this.#messageBytesMax;
    const reader = new MessageReader({ bytesMax, refuse: (problem) => refusedFrame(problem, bytesMax) });
    const parts = this.#request.iterator({ destroyOnReturn: false });
    const late = this.#clock.setTimer(() => this.#hangUp.abort(neverArrived()), requestMs);
    try {
      for (;;) {
        const { done, value } = await this.#orHungUp(parts.next());
        if (done && !reader.isEmpty) throw broken("ends in the middle of a message");
        if (done) return;
        for (const message of reader.add(value)) {
          late.cancel();
          yield message;
        }
      }
    } finally {
      late.cancel();
    }
  }

  async #orHungUp<T>(awaited: Promise<T>): Promise<T> {
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(this.signal.reason);
    if (this.signal.aborted) onAbort();
    this.signal.addEventListener("abort", onAbort);
    try {
      return await Promise.race([awaited, aborted]);
    } finally {
      this.signal.removeEventListener("abort", onAbort);
    }
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

  end(refusal: CallStatus | null): void {
    if (this.#isGone) return;
    this.begin();
    this.#response.addTrailers(refusal === null ? { "grpc-status": "0" } : statusHeaders(refusal));
    this.#response.end();
    if (refusal === null) return;
    // The client may not read the data before the status, and the call must end anyway.
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
    this.#hangUp.abort(new CallEnded("CANCELLED", "the call was cancelled"));
  }

  #watchDeadline(header: string | string[] | undefined): void {
    const ms = deadlineMs(header);
    if (ms === null) return;
    const late = () => this.#hangUp.abort(new CallEnded("DEADLINE_EXCEEDED", "the deadline has passed"));
    const timer = this.#clock.setTimer(late, ms);
    this.#request.stream.once("close", () => timer.cancel());
  }
}

function neverArrived(): CallEnded {
  return new CallEnded("DEADLINE_EXCEEDED", `the request did not arrive within ${requestMs / 1000} s`);
}

function broken(why: string): WritError {
  return new WritError("INVALID_ARGUMENT", `the request ${why}`);
}

/** Compressed messages are refused: nothing here is large enough to benefit. */
function refusedFrame(problem: "compressed" | "too large", bytesMax: number): WritError {
  return problem === "compressed"
    ? new WritError("METHOD_NOT_ALLOWED", "compressed messages are not accepted")
    : new WritError("TOO_LARGE", `a request may have at most ${bytesMax} bytes`);
}

const unitMs: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** `grpc-timeout` as gRPC writes it, such as 1500m. An unreadable one is ignored. */
function deadlineMs(header: string | string[] | undefined): number | null {
  const match = /^(\d{1,8})([HMSmun])$/.exec(String(header ?? ""));
  return match === null ? null : Number(match[1]) * unitMs[match[2]!]!;
}
