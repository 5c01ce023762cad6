import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import tls from "node:tls";
import { StallWatch } from "./stall-watch.ts";
import type { TransferDeps } from "./transfer-deps.ts";
import { statusFailure, TransferFailure } from "./transfer-failure.ts";

type TransferRequest = {
  method: "GET" | "HEAD" | "PUT" | "POST";
  url: string;
  headers: Record<string, string>;
  /** With its length in `headers`. */
  body?: AsyncIterable<Uint8Array> | undefined;
  signal: AbortSignal;
};

export type TransferResponse = {
  status: number;
  header(name: string): string | undefined;
  /** The body as it arrives. Ends with a TransferFailure if the connection breaks off or stalls. */
  body: AsyncIterable<Buffer>;
  /** The beginning of the body. */
  text(): Promise<string>;
};

/** A body of more than this waits until the store has agreed to it, so that no refusal costs all of its bytes. */
const expectBytesMin = 1024 ** 2;
/** Some stores never say so; then the body is sent anyway. */
const agreeMsMax = 3_000;
const textBytesMax = 4096;

/** Sends one request over a connection of its own. Redirects are not followed: a URL is for one host. */
export async function sendRequest(deps: TransferDeps, call: TransferRequest): Promise<TransferResponse> {
  const watch = new StallWatch(deps);
  const signal = AbortSignal.any([call.signal, watch.signal]);
  signal.throwIfAborted();
  const request = openRequest(deps, call, signal);
  try {
    const answered = answerOf(request);
    const sent = writeBody(request, { ...call, answered, watch, deps });
    // An early answer ends the sending; a failure of either ends both.
    const response = await Promise.race([answered, sent.then(() => answered)]);
    return responseOf(response, { watch, signal });
  } catch (error) {
    watch.stop();
    request.destroy();
    throw failureOf(error, signal);
  }
}

/** The beginning of the body of a success; any other status is thrown as a TransferFailure. */
export async function successText(response: TransferResponse): Promise<string> {
  const text = await response.text();
  if (response.status >= 200 && response.status < 300) return text;
  throw statusFailure(response.status, text);
}

function openRequest(
  { ca }: TransferDeps,
  { method, url, headers, body }: TransferRequest,
  signal: AbortSignal,
): ClientRequest {
  const target = new URL(url);
  const isLarge = body !== undefined && Number(headers["content-length"]) > expectBytesMin;
  const allHeaders = isLarge ? { ...headers, expect: "100-continue" } : headers;
  const options = { method, headers: allHeaders, agent: false as const, signal };
  if (target.protocol !== "https:") return requestHttp(target, options);
  const trust = ca === undefined ? {} : { ca: [...defaultAuthorities(), ca] };
  return requestHttps(target, { ...options, ...trust });
}

/** Node 20 cannot say which it trusts by default; those that it came with are nearly always the same. */
function defaultAuthorities(): readonly string[] {
  return tls.getCACertificates?.("default") ?? tls.rootCertificates;
}

function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.once("response", resolve);
  request.on("error", reject);
  // It may be lost before anybody waits for it.
  promise.catch(() => {});
  return promise;
}

type Writing = Pick<TransferRequest, "body" | "headers"> & {
  answered: Promise<unknown>;
  watch: StallWatch;
  deps: Pick<TransferDeps, "clock">;
};

async function writeBody(
  request: ClientRequest,
  { body, headers, answered, watch, deps }: Writing,
): Promise<void> {
  if (body === undefined) {
    request.end();
    return;
  }
  let isAnswered = false;
  const note = (): void => {
    isAnswered = true;
  };
  const answer = answered.then(note, note);
  if (Number(headers["content-length"]) > expectBytesMin) {
    request.flushHeaders();
    const waited = new AbortController();
    const patience = deps.clock.sleep(agreeMsMax, waited.signal).catch(() => {});
    await Promise.race([
      once(request, "continue", { signal: waited.signal }).catch(() => {}),
      answer,
      patience,
    ]);
    waited.abort();
  }
  for await (const chunk of body) {
    if (isAnswered) return;
    if (!request.write(chunk)) await Promise.race([once(request, "drain").catch(() => {}), answer]);
    watch.moved(chunk.length);
  }
  request.end();
  watch.allowSilence();
}

function responseOf(
  message: IncomingMessage,
  { watch, signal }: { watch: StallWatch; signal: AbortSignal },
): TransferResponse {
  const body = readBody(message, { watch, signal });
  return {
    status: message.statusCode ?? 0,
    header(name) {
      const value = message.headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    body,
    async text() {
      let text = "";
      for await (const chunk of body) {
        text += chunk.toString("latin1");
        if (text.length > textBytesMax) break;
      }
      return text.slice(0, textBytesMax);
    },
  };
}

async function* readBody(
  message: IncomingMessage,
  { watch, signal }: { watch: StallWatch; signal: AbortSignal },
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      watch.moved(chunk.length);
      yield chunk;
    }
  } catch (error) {
    throw failureOf(error, signal);
  } finally {
    watch.stop();
    message.destroy();
  }
}

function failureOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (!(error instanceof Error) || !("code" in error)) return error;
  return new TransferFailure("unavailable", `the connection to the store failed: ${error.code}`);
}
