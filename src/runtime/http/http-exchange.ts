import { type Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import type { Clock, Timer } from "../clock/clock.ts";

type Exchange = {
  hub: URL;
  /** Path and query, relative to the hub's address. */
  path: string;
  agent: Agent;
  method: string;
  headers: Record<string, string>;
  body: Uint8Array | undefined;
  signal: AbortSignal | undefined;
  clock: Clock;
  /** From the start until the head of the response. */
  timeoutMs: number;
  /** Calls back if the hub is found to be frozen; returns what ends that. */
  watch?: ((onFrozen: () => void) => () => void) | undefined;
};

export const frozen = "has stopped answering";

/** An error below HTTP. */
export class ConnectionFailure extends Error {
  /** A kept connection that the other side closed just as it was used again; not an error of the hub. */
  readonly wasStale: boolean;
  /** The request may have arrived: there was a connection for it. */
  readonly wasSent: boolean;

  constructor(reason: string, { wasStale, wasSent }: { wasStale: boolean; wasSent: boolean }) {
    super(reason);
    this.name = "ConnectionFailure";
    this.wasStale = wasStale;
    this.wasSent = wasSent;
  }
}

// A hub that disappeared (power, firewall) must not cost the whole time of a long poll.
const connectMsMax = 5000;

/** Sends one request over one connection and returns the head of the response; the body is still to be read. */
export function exchange(options: Exchange): Promise<IncomingMessage> {
  const { signal, clock, timeoutMs } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const request = openRequest(options);
    const timers: Timer[] = [];
    let wasSent = false;

    const settle = (act: () => void): void => {
      for (const timer of timers) timer.cancel();
      release?.();
      signal?.removeEventListener("abort", onAbort);
      act();
    };
    const fail = (reason: string, code?: string): void => {
      const wasStale = request.reusedSocket && code === "ECONNRESET";
      settle(() => reject(new ConnectionFailure(reason, { wasStale, wasSent })));
      request.destroy();
    };
    const onAbort = (): void => {
      settle(() => reject(signal?.reason));
      request.destroy();
    };

    const release = options.watch?.(() => fail(frozen));
    signal?.addEventListener("abort", onAbort, { once: true });
    timers.push(clock.setTimer(() => fail(`no response within ${timeoutMs} ms`), timeoutMs));
    request.once("socket", (socket) => {
      // Counted from here, because waiting for a free connection of the pool says nothing about the hub.
      const connectMs = Math.min(timeoutMs, connectMsMax);
      const timer = clock.setTimer(() => fail(`no connection within ${connectMs} ms`), connectMs);
      timers.push(timer);
      onceConnected(socket, options.hub, () => {
        timer.cancel();
        wasSent = true;
      });
    });
    request.on("error", (error: NodeJS.ErrnoException) => fail(error.code ?? error.message, error.code));
    request.on("response", (response) => settle(() => resolve(response)));
    request.end(options.body);
  });
}

function openRequest({ hub, path, agent, method, headers, body }: Exchange): ClientRequest {
  const length = body === undefined ? {} : { "content-length": String(body.byteLength) };
  const open = hub.protocol === "https:" ? requestHttps : requestHttp;
  // Plain fields, because creating a URL for each request costs as much as the rest of this function.
  const hostname = hub.hostname.startsWith("[") ? hub.hostname.slice(1, -1) : hub.hostname;
  return open({ hostname, port: hub.port, path, agent, method, headers: { ...headers, ...length } });
}

function onceConnected(socket: Socket, hub: URL, onConnected: () => void): void {
  if (!socket.connecting) onConnected();
  else socket.once(hub.protocol === "https:" ? "secureConnect" : "connect", onConnected);
}
