import { type ClientRequest, type IncomingMessage, request as openRequest } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import { RunFailure } from "../runner.ts";
import type { WorkerConnections } from "./connect-to-worker.ts";

export type Call = {
  method: "GET" | "POST" | "DELETE";
  path: string;
  /** JSON text. */
  body?: string;
  /** For everything, up to the last byte of the answer. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
};

export type Answer = { status: number; text: string };

/**
 * There is no answer: nobody listens, the connection broke, it took too long, or it was too large. The message is what
 * the server did, to be put behind its name: `closed the connection instead of answering GET /job/1`.
 */
export class ExchangeFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ExchangeFailure";
  }
}

/** A result has at most 1 MiB; JSON may take several bytes for one character of it. */
const answerBytesMax = 4 * 1024 * 1024;

/**
 * Time is counted in this many parts, and a part counts as one however late its timer fires: on a busy machine this
 * program may be held up itself, while the answer is waiting to be read.
 */
const timeParts = 10;

/**
 * One request to a server on this machine. Each has a connection of its own, because a server with a single thread, such
 * as Python's, serves nobody else for as long as a connection stays open. Redirects are not followed. Rejects with a
 * RunFailure if the connection would lead to somebody else; then nothing was sent.
 */
export function exchange(clock: Clock, connections: WorkerConnections, call: Call): Promise<Answer> {
  const { signal, timeoutMs } = call;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const over = new AbortController();
    let request: ClientRequest | undefined;
    const settle = (act: () => void): void => {
      limit.cancel();
      signal?.removeEventListener("abort", onAbort);
      act();
      over.abort();
      request?.destroy();
    };
    const fail = (message: string): void => settle(() => reject(new ExchangeFailure(message)));
    const onAbort = (): void => settle(() => reject(signal?.reason));
    const limit = countTime(clock, timeoutMs, () =>
      fail(`did not answer ${nameOf(call)} within ${timeoutMs / 1000} s`),
    );
    signal?.addEventListener("abort", onAbort, { once: true });
    const onFault = (error: unknown): void =>
      error instanceof RunFailure ? settle(() => reject(error)) : fail(faultOf(call, error));
    const onOpen = (connection: Duplex): void => {
      if (over.signal.aborted) return void connection.destroy();
      if (connection.destroyed)
        return void onFault(connection.errored ?? new Error("the connection was closed"));
      request = send(connection, call);
      request.on("error", onFault);
      request.on("response", (response) => {
        readAnswer(response).then((answer) => settle(() => resolve(answer)), onFault);
      });
    };
    connections.open(over.signal).then(onOpen, onFault);
  });
}

function send(connection: Duplex, { method, path, body }: Call): ClientRequest {
  const request = openRequest({
    createConnection: () => connection,
    host: "localhost",
    method,
    path,
    headers: {
      connection: "close",
      accept: "application/json",
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
    },
  });
  request.end(body);
  return request;
}

function countTime(clock: Clock, ms: number, onOver: () => void): Timer {
  let parts = 0;
  let timer: Timer;
  const arm = (): void => {
    timer = clock.setTimer(() => (++parts < timeParts ? arm() : onOver()), ms / timeParts);
  };
  arm();
  return { cancel: () => timer.cancel() };
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new TooLarge();
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") };
}

class TooLarge extends Error {}

function faultOf(call: Call, error: unknown): string {
  if (error instanceof TooLarge) return `answered ${nameOf(call)} with more than ${answerBytesMax} bytes`;
  const cause = causeOf(error);
  if (cause === "ECONNREFUSED") return "does not accept connections";
  if (cause === "ECONNRESET") return `closed the connection instead of answering ${nameOf(call)}`;
  // What Node's parser of HTTP finds fault with.
  if (cause.startsWith("HPE_")) return `answered ${nameOf(call)} with something that is not HTTP`;
  return `could not be asked ${nameOf(call)} (${cause})`;
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
}

function nameOf({ method, path }: Call): string {
  return `${method} ${path}`;
}
