import type { IncomingMessage } from "node:http";
import { WritError } from "../core/errors.ts";
import { type Clock, systemClock } from "./clock.ts";
import { collectBody, streamBody } from "./http-body.ts";
import { type Exchange, exchange } from "./http-exchange.ts";
import { type HttpResponse, type HttpStream, headerReader } from "./http-response.ts";
import { HubPool, type HubPoolOptions, type PooledHub } from "./hub-pool.ts";

export type { HttpStream } from "./http-response.ts";

export type HttpClientOptions = HubPoolOptions & { token?: string | undefined; clock?: Clock };

type HttpRequest = {
  method: string;
  path: string;
  body?: string | Uint8Array | undefined;
  headers?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
  /** For each hub that is tried, until the whole response has arrived. */
  timeoutMs: number;
  responseBytesMax?: number;
};

type HttpStreamRequest = {
  path: string;
  headers?: Record<string, string> | undefined;
  signal: AbortSignal;
  /** Ends the stream when nothing has arrived for this long. */
  idleTimeoutMs?: number;
};

export type HttpClient = {
  /** Resolves with every response, whatever its status. */
  request(request: HttpRequest): Promise<HttpResponse>;
  openStream(request: HttpStreamRequest): Promise<HttpStream>;
  /** Closes the idle connections. */
  close(): void;
};

// A batch response has at most 8 MiB; one of four times that is a mistake.
const responseBytesMaxDefault = 32 * 1024 * 1024;
const streamOpenMsMax = 30_000;

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { token, clock = systemClock } = options;
  const hubs = new HubPool(options);
  return {
    request: (request) => hubs.try((hub) => requestFrom(hub, { token, clock }, request)),
    openStream: (request) => hubs.try((hub) => openStreamFrom(hub, { token, clock }, request)),
    close: () => hubs.close(),
  };
}

type CallDeps = { token: string | undefined; clock: Clock };

async function requestFrom(hub: PooledHub, deps: CallDeps, request: HttpRequest): Promise<HttpResponse> {
  const { clock } = deps;
  const { method, path, headers, signal, timeoutMs } = request;
  const body = typeof request.body === "string" ? Buffer.from(request.body) : request.body;
  const startedMs = clock.monotonicMs();
  const message = await send(hub, deps, { method, path, headers, body, signal, timeoutMs, agent: hub.agent });
  const leftMs = Math.max(1, timeoutMs - (clock.monotonicMs() - startedMs));
  const bytesMax = request.responseBytesMax ?? responseBytesMaxDefault;
  const bytes = await collectBody(message, { clock, signal, timeoutMs: leftMs, bytesMax });
  return { ...headOf(message), text: () => bytes.toString("utf8") };
}

async function openStreamFrom(
  hub: PooledHub,
  deps: CallDeps,
  { path, headers, signal, idleTimeoutMs }: HttpStreamRequest,
): Promise<HttpStream> {
  const timeoutMs = Math.min(idleTimeoutMs ?? streamOpenMsMax, streamOpenMsMax);
  const call = { method: "GET", path, headers, body: undefined, signal, timeoutMs, agent: hub.streamAgent };
  const message = await send(hub, deps, call);
  const { clock } = deps;
  const body = streamBody(message, { clock, signal, idleTimeoutMs, address: hub.url.origin });
  return { ...headOf(message), body };
}

type Sent = Omit<Exchange, "hub" | "clock" | "headers"> & Pick<HttpRequest, "headers">;

function send(hub: PooledHub, { token, clock }: CallDeps, call: Sent): Promise<IncomingMessage> {
  return exchange({
    ...call,
    clock,
    hub: hub.url,
    path: joinPath(hub.url, call.path),
    headers: { ...authorization(token), ...call.headers },
  });
}

/** An address may have a path of its own, if a proxy serves the hub below a prefix. */
function joinPath(hub: URL, path: string): string {
  if (!path.startsWith("/")) throw new WritError("CONFIG_INVALID", `request path ${path} must begin with /`);
  return hub.pathname.endsWith("/") ? hub.pathname.slice(0, -1) + path : hub.pathname + path;
}

function authorization(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

function headOf({ statusCode = 0, headers }: IncomingMessage): Pick<HttpResponse, "status" | "header"> {
  return { status: statusCode, header: headerReader(headers) };
}
