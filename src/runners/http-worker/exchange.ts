import { type IncomingMessage, request as openRequest } from "node:http";
import type { LookupFunction } from "node:net";
import type { Clock, Timer } from "../../runtime/clock.ts";

export type Call = {
  port: number;
  /** Whether only 127.0.0.1 is tried, and not ::1. */
  isIpv4Only?: boolean;
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

/** Some servers listen on one of the two addresses only. */
const loopback = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];
const lookupLoopback: LookupFunction = (_host, { all }, callback) =>
  all ? callback(null, loopback) : callback(null, loopback[0]!.address, loopback[0]!.family);

/**
 * One request to a server on this machine. Each has a connection of its own, because a server with a single thread, such
 * as Python's, serves nobody else for as long as a connection stays open. Redirects are not followed.
 */
export function exchange(clock: Clock, call: Call): Promise<Answer> {
  const { signal, timeoutMs, body } = call;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const request = openRequest({
      ...(call.isIpv4Only ? { host: "127.0.0.1" } : { host: "localhost", lookup: lookupLoopback }),
      port: call.port,
      method: call.method,
      path: call.path,
      agent: false,
      headers: {
        connection: "close",
        accept: "application/json",
        ...(body === undefined
          ? {}
          : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      },
    });
    const settle = (act: () => void): void => {
      limit.cancel();
      signal?.removeEventListener("abort", onAbort);
      act();
      request.destroy();
    };
    const fail = (message: string): void => settle(() => reject(new ExchangeFailure(message)));
    const onAbort = (): void => settle(() => reject(signal?.reason));
    const limit = countTime(clock, timeoutMs, () =>
      fail(`did not answer ${nameOf(call)} within ${timeoutMs / 1000} s`),
    );
    signal?.addEventListener("abort", onAbort, { once: true });
    request.on("error", (error) => fail(faultOf(call, error)));
    request.on("response", (response) => {
      readAnswer(response).then(
        (answer) => settle(() => resolve(answer)),
        (error: unknown) => fail(faultOf(call, error)),
      );
    });
    request.end(body);
  });
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

/** When both addresses were tried there is one error for each, and the first says enough. */
function causeOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (!(first instanceof Error)) return String(first);
  return "code" in first && typeof first.code === "string" ? first.code : first.message;
}

function nameOf({ method, path }: Call): string {
  return `${method} ${path}`;
}
