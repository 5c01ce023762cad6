import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Http2SessionManager } from "@connectrpc/connect-node";
import { frameMessage } from "../../runtime/http/grpc-message.ts";
import { Unframer } from "./grpc-frames.ts";

export type Exchange = {
  path: string;
  message: Uint8Array;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
};

// HTTP/2's own code for "nobody waits for this any more".
const cancelCode = 8;

/** One call: sends a message and yields the bytes of the responses, until the hub reports how it ended. */
export async function* exchange(sessions: Http2SessionManager, call: Exchange): AsyncGenerator<Buffer> {
  const patience = new Patience(call);
  try {
    const stream = await patience.until(sessions.request("POST", call.path, headersOf(call), {}), hangUp);
    patience.onEnd(() => hangUp(stream));
    yield* answersOf(stream, call.message);
  } catch (error) {
    throw patience.reason ?? broken(error);
  } finally {
    patience.release();
  }
  if (patience.reason !== undefined) throw patience.reason;
}

async function* answersOf(stream: ClientHttp2Stream, message: Uint8Array): AsyncGenerator<Buffer> {
  let headers: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  // The reader gets an error there; an error after the end concerns nobody.
  stream.on("error", () => {});
  stream.on("response", (received) => {
    headers = received;
  });
  stream.on("trailers", (received) => {
    trailers = received;
  });
  stream.end(frameMessage(message));
  const unframer = new Unframer();
  for await (const piece of stream) yield* unframer.push(piece as Buffer);
  // A refusal without any message has its status in the headers.
  const status = trailers["grpc-status"] ?? headers["grpc-status"];
  if (status === "0" && unframer.isEmpty) return;
  if (status === undefined || status === "0") {
    const found = headers[":status"] === undefined ? "" : ` (HTTP status ${headers[":status"]})`;
    throw new ConnectError(`the response ended too early${found}`, Code.Unavailable);
  }
  throw refusal(Number(status), trailers["grpc-status"] === undefined ? headers : trailers);
}

function headersOf({ timeoutMs, headers }: Exchange): Record<string, string> {
  return {
    "content-type": "application/grpc+proto",
    te: "trailers",
    "user-agent": "writ",
    // Tells the hub, so that it does not work for a caller that has left.
    ...(timeoutMs === undefined ? {} : { "grpc-timeout": `${timeoutMs}m` }),
    ...headers,
  };
}

/** The hub's response, as the library's own transport would return it. */
function refusal(status: number, said: IncomingHttpHeaders): ConnectError {
  const code = Code[status] === undefined ? Code.Unknown : (status as Code);
  const metadata: [string, string][] = Object.entries(said).flatMap(([name, value]) =>
    typeof value === "string" && !name.startsWith(":") ? [[name, value]] : [],
  );
  const error = new ConnectError(decodeText(String(said["grpc-message"] ?? "")), code, metadata);
  error.isWireError = true;
  return error;
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function broken(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ConnectError) return error;
  return new ConnectError(error.message, Code.Unavailable, undefined, undefined, error);
}

function hangUp(stream: ClientHttp2Stream): void {
  stream.on("error", () => {});
  if (!stream.readableEnded) stream.close(cancelCode);
}

/** Ends a call when its caller wants it to: by the signal, or by the deadline. */
class Patience {
  reason: ConnectError | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #ended = Promise.withResolvers<never>();
  #act: () => void = () => {};
  readonly #onAbort = (): void => this.#end(new ConnectError("the call was cancelled", Code.Canceled));

  constructor({ signal, timeoutMs }: Exchange) {
    this.#signal = signal;
    this.#ended.promise.catch(() => {});
    if (timeoutMs !== undefined) {
      const message = `no response within ${Math.round(timeoutMs / 1000)} s`;
      this.#timer = setTimeout(() => this.#end(new ConnectError(message, Code.DeadlineExceeded)), timeoutMs);
    }
    if (signal?.aborted) this.#onAbort();
    signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Waits for a value, but no longer than the caller does; a value that arrives too late is disposed of. */
  async until<T>(coming: Promise<T>, dispose: (late: T) => void): Promise<T> {
    try {
      return await Promise.race([coming, this.#ended.promise]);
    } catch (error) {
      if (this.reason !== undefined) coming.then(dispose, () => {});
      throw error;
    }
  }

  onEnd(act: () => void): void {
    this.#act = act;
    if (this.reason !== undefined) act();
  }

  release(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    // A reader that stops in the middle wants nothing more of it.
    this.#act();
  }

  #end(reason: ConnectError): void {
    this.reason ??= reason;
    this.#ended.reject(this.reason);
    this.#act();
  }
}
