import { Readable } from "node:stream";
import { errorTable, WritError } from "../../core/errors.ts";
import { type Clock, systemClock } from "../clock/clock.ts";
import { joinPath } from "../hubs/hub-address.ts";
import { HubPool, type HubPoolOptions, type PooledHub } from "../hubs/hub-pool.ts";
import { movedToHeader } from "../hubs/moved-hub.ts";
import { collectBody, streamBody } from "./http-body.ts";
import { openRequest } from "./open-request.ts";
import { ResponseProblem } from "./response-reader.ts";

type HttpResponse = {
  status: number;
  /** The address of the hub that answered; a simulated network has none. */
  from?: string;
  /** A header by its name in lower case. */
  header: (name: string) => string | undefined;
  text: () => string;
};

export type HttpStream = Omit<HttpResponse, "text"> & { body: AsyncIterable<Buffer> };

export type HttpClientOptions = HubPoolOptions & {
  token?: string | undefined;
  /** The program that calls, for the hub's audit trail. */
  userAgent?: string | undefined;
};

type HttpRequest = {
  method: string;
  path: string;
  body?: string | Uint8Array | undefined;
  headers?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
  /** For each hub that is tried, until the whole response has arrived. */
  timeoutMs: number;
  responseBytesMax?: number;
  /** Whether it may reach a hub twice (default: true). If not, the call fails when its answer is lost. */
  mayRepeat?: boolean;
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
  /** The address of the hub that answered last, or that will be called first. */
  readonly currentHub: string;
  /** How often another hub was taken because one could not be reached. */
  readonly moves: number;
  /** Closes the idle connections. */
  close(): void;
};

// A batch response has at most 8 MiB; one of four times that is a mistake.
const responseBytesMaxDefault = 32 * 1024 * 1024;
const streamOpenMsMax = 30_000;

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { clock = systemClock } = options;
  const headers = { ...authorization(options.token), ...program(options.userAgent) };
  const hubs = new HubPool(options);
  return {
    request: (request) =>
      hubs.try({
        attempt: (hub) => requestFrom(hub, { headers, clock }, request),
        ...judge,
        mayRepeat: request.mayRepeat ?? true,
        what: `${request.method} ${request.path}`,
        signal: request.signal,
      }),
    openStream: (request) =>
      hubs.try({
        attempt: (hub) => openStreamFrom(hub, { headers, clock }, request),
        ...judge,
        mayRepeat: true,
        what: `GET ${request.path}`,
        signal: request.signal,
      }),
    get currentHub() {
      return hubs.current;
    },
    get moves() {
      return hubs.moves;
    },
    close: () => hubs.close(),
  };
}

/** A hub that stops or has lost its database, or a proxy that finds no hub; another address may lead to one. */
const awayStatuses: readonly number[] = [502, 503, 504];

function isAway({ status }: { status: number }): boolean {
  return awayStatuses.includes(status);
}

/** Any other status is an answer to the call, whatever a proxy or a program behind this address adds to it. */
function movedTo({ status, header }: Pick<HttpResponse, "status" | "header">): string | undefined {
  return status === errorTable.HUB_MOVED.http ? header(movedToHeader) : undefined;
}

/** A hub does not know the token, or has refused it so often that it looks at no more of them for a while. */
function isUnknown({ status }: { status: number }): boolean {
  return status === errorTable.UNAUTHENTICATED.http || status === errorTable.RATE_LIMITED.http;
}

/** What an answer shows about its hub. */
const judge = { isAway, movedTo, isUnknown };

/** The headers are those of every call. */
type CallDeps = { headers: Record<string, string>; clock: Clock };

async function requestFrom(hub: PooledHub, deps: CallDeps, request: HttpRequest): Promise<HttpResponse> {
  const { method, signal, timeoutMs, responseBytesMax = responseBytesMaxDefault } = request;
  const body = typeof request.body === "string" ? Buffer.from(request.body) : request.body;
  const { pulse } = hub;
  const {
    status,
    headers,
    body: bytes,
  } = await hub.calls
    .call({
      method,
      path: joinPath(hub.url, request.path),
      headers: { ...deps.headers, ...request.headers },
      body,
      signal,
      clock: deps.clock,
      timeoutMs,
      responseBytesMax,
      // A kept connection may be closed just when it is used, and then it is unknown whether the call has arrived.
      isAlone: request.mayRepeat === false,
      watch: watchOf(hub),
    })
    .catch(refuseLarge);
  pulse?.seen();
  return {
    status,
    from: hub.url.origin,
    header: (name) => headers[name],
    text: () => bytes.toString("utf8"),
  };
}

function refuseLarge(error: unknown): never {
  if (!(error instanceof ResponseProblem) || !error.isTooLarge) throw error;
  throw new WritError("HTTP_ERROR", `the hub's response is refused: ${error.message}`);
}

async function openStreamFrom(
  hub: PooledHub,
  deps: CallDeps,
  { path, headers, signal, idleTimeoutMs }: HttpStreamRequest,
): Promise<HttpStream> {
  const timeoutMs = Math.min(idleTimeoutMs ?? streamOpenMsMax, streamOpenMsMax);
  const { clock } = deps;
  const { pulse, url, failed: onBroken } = hub;
  const call = {
    method: "GET",
    host: url.host,
    path: joinPath(url, path),
    headers: { ...deps.headers, ...headers, connection: "close" },
    signal,
    clock,
    timeoutMs,
    watch: watchOf(hub),
  };
  const { status, headers: fields, body } = await openRequest(call, hub.streamConnection);
  pulse?.seen();
  const head = { status, from: url.origin, header: (name: string) => fields[name] };
  if (!isAway(head) && !isUnknown(head)) {
    const life = { clock, signal, idleTimeoutMs, pulse };
    return { ...head, body: streamBody(body, { ...life, address: url.origin, onBroken }) };
  }
  // Read here, because it is thrown away if another hub answers.
  const bytesMax = responseBytesMaxDefault;
  const bytes = await collectBody(body, { clock, signal, timeoutMs, bytesMax, pulse });
  return { ...head, body: Readable.from([bytes]) };
}

function watchOf({ pulse }: PooledHub) {
  return pulse && ((onFrozen: () => void) => pulse.watch(onFrozen));
}

function authorization(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

function program(userAgent: string | undefined): Record<string, string> {
  return userAgent === undefined ? {} : { "user-agent": userAgent };
}
