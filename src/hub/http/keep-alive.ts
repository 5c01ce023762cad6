import type { ServerResponse } from "node:http";

/** Longer than the keep-alive of common proxies, so that they and not the hub close idle connections. */
export const keepAliveMs = 75_000;

const kept = { "Keep-Alive": `timeout=${keepAliveMs / 1000}` } as const;

/**
 * Headers for a connection that stays open. HTTP/1.1 keeps connections by default, so the line `Connection:
 * keep-alive`, which Node adds by itself, is left out of every answer to such a client: a worker's calls have a
 * User-Agent for the bytes that this saves.
 */
export function keepAliveHeaders(outgoing: ServerResponse): Readonly<Record<string, string>> {
  if (!outgoing.shouldKeepAlive || outgoing.req.httpVersion !== "1.1") return {};
  outgoing.removeHeader("Connection");
  return kept;
}
