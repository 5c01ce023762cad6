import tls from "node:tls";
import type { Clock } from "../runtime/clock/clock.ts";
import type { BodyTarget } from "../runtime/http/connection.ts";
import { ConnectionFailure } from "../runtime/http/connection-failure.ts";
import { connectionTo } from "../runtime/http/open-connection.ts";
import { type OpenResponse, openRequest } from "../runtime/http/open-request.ts";
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

/** Sends one request over a connection of its own. Redirects are not followed: a URL is for one host. Why: ADR 0113. */
export async function sendRequest(deps: TransferDeps, call: TransferRequest): Promise<TransferResponse> {
  const watch = new StallWatch(deps);
  const signal = AbortSignal.any([call.signal, watch.signal]);
  const { host, pathname, search } = new URL(call.url);
  const { method, headers, body } = call;
  const isLarge = body !== undefined && Number(headers["content-length"]) > expectBytesMin;
  const request = {
    method,
    host,
    path: pathname + search,
    headers: { ...headers, connection: "close", ...(isLarge && { expect: "100-continue" }) },
    body: body && ((target: BodyTarget) => writeBody(target, { body, isLarge, watch, clock: deps.clock })),
    signal,
    clock: deps.clock,
  };
  try {
    return responseOf(await openRequest(request, connectionOf(deps, call.url)), { watch, signal });
  } catch (error) {
    watch.stop();
    throw failureOf(error, signal);
  }
}

/** The beginning of the body of a success; any other status is thrown as a TransferFailure. */
export async function successText(response: TransferResponse): Promise<string> {
  const text = await response.text();
  if (response.status >= 200 && response.status < 300) return text;
  throw statusFailure(response.status, text);
}

function connectionOf({ ca, clock }: TransferDeps, url: string) {
  return connectionTo(new URL(url), {
    clock,
    ...(ca !== undefined && { tls: { ca: [...defaultAuthorities(), ca] } }),
  });
}

/** Node 20 cannot say which it trusts by default; those that it came with are nearly always the same. */
function defaultAuthorities(): readonly string[] {
  return tls.getCACertificates?.("default") ?? tls.rootCertificates;
}

type Writing = {
  body: AsyncIterable<Uint8Array>;
  isLarge: boolean;
  watch: StallWatch;
  clock: Clock;
};

async function writeBody(target: BodyTarget, { body, isLarge, watch, clock }: Writing): Promise<void> {
  if (isLarge) {
    const waited = new AbortController();
    // The pause is only aborted once the race is over.
    await Promise.race([target.agreed(), clock.sleep(agreeMsMax, waited.signal).catch(() => {})]);
    waited.abort();
  }
  for await (const chunk of body) {
    if (!(await target.write(chunk))) return;
    watch.moved(chunk.length);
  }
  watch.allowSilence();
}

function responseOf(
  response: OpenResponse,
  { watch, signal }: { watch: StallWatch; signal: AbortSignal },
): TransferResponse {
  const body = readBody(response, { watch, signal });
  return {
    status: response.status,
    header: (name) => response.headers[name],
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
  { body }: OpenResponse,
  { watch, signal }: { watch: StallWatch; signal: AbortSignal },
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      watch.moved(chunk.length);
      yield chunk;
    }
  } catch (error) {
    throw failureOf(error, signal);
  } finally {
    watch.stop();
    body.destroy();
  }
}

function failureOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (!(error instanceof ConnectionFailure)) return error;
  return new TransferFailure("unavailable", `the connection to the store failed: ${error.message}`);
}
