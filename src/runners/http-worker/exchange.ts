import { type IncomingMessage, request as openRequest } from "node:http";
import type { LookupFunction } from "node:net";
import type { Clock } from "../../runtime/clock.ts";

export type Call = {
  port: number;
  method: "GET" | "POST" | "DELETE";
  path: string;
  /** JSON text. */
  body?: string;
  /** For everything, up to the last byte of the answer. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
};

export type Answer = { status: number; text: string };

/** There is no answer: nobody listens, the connection broke, it took too long, or it was too large. */
export class ExchangeFailure extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "ExchangeFailure";
  }
}

/** A result has at most 1 MiB; JSON may take several bytes for one character of it. */
const answerBytesMax = 4 * 1024 * 1024;

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
      host: "localhost",
      port: call.port,
      method: call.method,
      path: call.path,
      lookup: lookupLoopback,
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
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
      act();
      request.destroy();
    };
    const fail = (reason: string): void => settle(() => reject(new ExchangeFailure(reason)));
    const onAbort = (): void => settle(() => reject(signal?.reason));
    const timer = clock.setTimer(() => fail(`no answer within ${timeoutMs} ms`), timeoutMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    request.on("error", (error) => fail(causeOf(error)));
    request.on("response", (response) => {
      readAnswer(response).then(
        (answer) => settle(() => resolve(answer)),
        (error: unknown) => fail(causeOf(error)),
      );
    });
    request.end(body);
  });
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new Error(`the answer is larger than ${answerBytesMax} bytes`);
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") };
}

/** When both addresses were tried there is one error for each, and the first says enough. */
function causeOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (!(first instanceof Error)) return String(first);
  return "code" in first && typeof first.code === "string" ? first.code : first.message;
}
