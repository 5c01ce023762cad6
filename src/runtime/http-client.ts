import { type AgentOptions, Agent as HttpAgent, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { WritError } from "../core/errors.ts";
import { type Clock, systemClock } from "./clock.ts";
import { collectBody, streamBody } from "./http-body.ts";
import { ConnectionFailure, type Exchange, exchange } from "./http-exchange.ts";
import { type HttpResponse, type HttpStream, headerReader } from "./http-response.ts";
import { parseHubAddress } from "./hub-address.ts";

export type { HttpResponse, HttpStream } from "./http-response.ts";

export type HttpClientOptions = {
  /** One or more hubs that serve the same queue; the first that answers is kept. */
  baseUrls: readonly string[];
  token?: string | undefined;
  /** PEM of the authority that signed the hub's certificate. */
  ca?: string | undefined;
  allowInsecure?: boolean | undefined;
  agentOptions?: AgentOptions;
  clock?: Clock;
};

export type HttpRequest = {
  method: string;
  path: string;
  body?: string | Uint8Array | undefined;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** For each hub that is tried, until the whole answer is there. */
  timeoutMs: number;
  responseBytesMax?: number;
};

export type HttpStreamRequest = {
  path: string;
  headers?: Record<string, string>;
  signal: AbortSignal;
  /** Ends the stream when nothing at all has come for so long. */
  idleTimeoutMs?: number;
};

export type HttpClient = {
  /** Resolves with every answer, whatever its status. */
  request(request: HttpRequest): Promise<HttpResponse>;
  openStream(request: HttpStreamRequest): Promise<HttpStream>;
  /** Closes the kept connections. */
  close(): void;
};

// A batch answer holds 8 MiB; four times that is an answer that nobody meant.
const RESPONSE_BYTES_MAX = 32 * 1024 * 1024;
const STREAM_OPEN_MS_MAX = 30_000;
// Enough for every slot of a large worker, and far below the descriptor limit of a process.
const SOCKETS_MAX = 256;

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const clock = options.clock ?? systemClock;
  const hubs = openHubs(options);
  let current = 0;

  /** Tries each hub once, beginning with the one that worked last. */
  const tryHubs = async <T>(attempt: (hub: Hub) => Promise<T>): Promise<T> => {
    const failures: string[] = [];
    // One extra turn, because a kept connection that had gone stale says nothing about its hub.
    let staleLeft = 1;
    for (let tried = 0, index = current; tried < hubs.length; ) {
      const hub = hubs[index]!;
      try {
        const answer = await attempt(hub);
        current = index;
        return answer;
      } catch (error) {
        if (!(error instanceof ConnectionFailure)) throw error;
        failures.push(`${hub.url.origin}: ${error.message}`);
        if (error.wasStale && staleLeft-- > 0) continue;
        index = (index + 1) % hubs.length;
        tried++;
      }
    }
    throw new WritError("HUB_UNREACHABLE", `no hub can be reached (${failures.join("; ")})`, {
      urls: hubs.map(({ url }) => url.origin),
    });
  };

  const send = (
    hub: Hub,
    extra: Pick<Exchange, "method" | "headers" | "body" | "signal" | "timeoutMs" | "agent">,
    path: string,
  ): Promise<IncomingMessage> =>
    exchange({
      ...extra,
      clock,
      hub: hub.url,
      path: joinPath(hub.url, path),
      headers: { ...authorization(options.token), ...extra.headers },
    });

  return {
    async request(request) {
      const { method, headers = {}, signal, timeoutMs } = request;
      const body = typeof request.body === "string" ? Buffer.from(request.body) : request.body;
      return tryHubs(async (hub) => {
        const startedMs = clock.monotonicMs();
        const message = await send(
          hub,
          { method, headers, body, signal, timeoutMs, agent: hub.agent },
          request.path,
        );
        const leftMs = Math.max(1, timeoutMs - (clock.monotonicMs() - startedMs));
        const bytesMax = request.responseBytesMax ?? RESPONSE_BYTES_MAX;
        const bytes = await collectBody(message, { clock, signal, timeoutMs: leftMs, bytesMax });
        return { ...headOf(message), text: () => bytes.toString("utf8") };
      });
    },

    async openStream({ path, headers = {}, signal, idleTimeoutMs }) {
      const timeoutMs = Math.min(idleTimeoutMs ?? STREAM_OPEN_MS_MAX, STREAM_OPEN_MS_MAX);
      return tryHubs(async (hub) => {
        const message = await send(
          hub,
          { method: "GET", headers, body: undefined, signal, timeoutMs, agent: hub.streamAgent },
          path,
        );
        const body = streamBody(message, { clock, signal, idleTimeoutMs, address: hub.url.origin });
        return { ...headOf(message), body };
      });
    },

    close() {
      for (const { agent, streamAgent } of hubs) {
        agent.destroy();
        streamAgent.destroy();
      }
    },
  };
}

type Hub = { url: URL; agent: HttpAgent; streamAgent: HttpAgent };

function openHubs({ baseUrls, allowInsecure, ca, agentOptions }: HttpClientOptions): Hub[] {
  if (baseUrls.length === 0) throw new WritError("CONFIG_INVALID", "at least one hub address is needed");
  return baseUrls.map((address) => {
    const url = parseHubAddress(address, { allowInsecure: allowInsecure ?? false });
    const Agent = url.protocol === "https:" ? HttpsAgent : HttpAgent;
    const trust = url.protocol === "https:" ? { ca, minVersion: "TLSv1.3" as const } : {};
    return {
      url,
      agent: new Agent({
        keepAlive: true,
        maxSockets: SOCKETS_MAX,
        scheduling: "lifo",
        ...trust,
        ...agentOptions,
      }),
      // A stream holds its connection for hours; in the common pool it would starve the short calls.
      streamAgent: new Agent({
        keepAlive: false,
        ...trust,
        ...agentOptions,
        maxSockets: Number.POSITIVE_INFINITY,
      }),
    };
  });
}

/** An address may have a path of its own, when a proxy serves the hub below a prefix. */
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
