import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Exchange } from "../exchange.ts";
import { headerOf } from "../exchange.ts";
import type { Reply } from "../reply.ts";

/** A smaller body fits into one packet anyway. */
const compressedBytesMin = 1_000;
const compress = promisify(gzip);

/**
 * Compresses the body of a read for callers that accept gzip, as browsers do. Answers to acts are short, and some
 * contain a secret, whose compressed length must not depend on the text around it.
 */
export async function compressReply(exchange: Exchange, reply: Reply): Promise<Reply> {
  const { body, headers } = reply;
  if (exchange.incoming.method !== "GET" || typeof body !== "string" || body.length < compressedBytesMin)
    return reply;
  if (!/\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(headerOf(exchange, "accept-encoding") ?? ""))
    return reply;
  const compressed = await compress(body);
  return {
    ...reply,
    headers: { ...headers, "Content-Encoding": "gzip", Vary: "Accept-Encoding" },
    body: compressed,
  };
}
