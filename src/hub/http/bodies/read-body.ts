import type { IncomingMessage } from "node:http";
import { WritError } from "../../../core/errors.ts";
import type { Exchange } from "../exchange.ts";
import type { OpenBodies } from "./open-bodies.ts";

type SentBody = Pick<Exchange, "incoming" | "via">;
type BodyLimits = { bytesMax: number; bodies: OpenBodies; caller: string };

/**
 * The body as bytes, never more than allowed: a body that announces a larger length is refused before a byte is read.
 */
export async function readBytes({ incoming, via }: SentBody, limits: BodyLimits): Promise<Buffer> {
  const { bytesMax } = limits;
  const announced = "body" in via ? via.body.length : incoming.headers["content-length"];
  if (announced !== undefined && Number(announced) > bytesMax) throw tooLarge(bytesMax);
  const encoding = incoming.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new WritError("UNSUPPORTED_MEDIA_TYPE", `the body must not be compressed (${encoding})`);
  }
  if ("body" in via) return via.body;
  const chunks = await collect(via.incoming, limits);
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/**
 * Uses events, because a loop over the stream would close the connection when it ends early, before the refusal is
 * sent.
 */
function collect(incoming: IncomingMessage, { bytesMax, bodies, caller }: BodyLimits): Promise<Buffer[]> {
  if (incoming.destroyed && !incoming.readableEnded) return Promise.reject(hungUp);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer[]>();
  const body = bodies.open(caller, reject);
  const chunks: Buffer[] = [];
  let size = 0;
  const onData = (chunk: Buffer): void => {
    size += chunk.length;
    body.received(chunk.length);
    if (size > bytesMax) reject(tooLarge(bytesMax));
    else chunks.push(chunk);
  };
  const onEnd = (): void => resolve(chunks);
  const onBreak = (): void => reject(hungUp);
  incoming.on("data", onData).once("end", onEnd).once("error", onBreak).once("close", onBreak);
  return promise.finally(() => {
    body.close();
    incoming.off("data", onData).off("end", onEnd).off("close", onBreak);
  });
}

/** The caller has gone, and nothing is wrong with the hub. */
export const hungUp = new WritError("HTTP_ERROR", "the client has hung up");

/** The text of a JSON body, or undefined if there is no body. */
export async function readJsonText(exchange: SentBody, limits: BodyLimits): Promise<string | undefined> {
  const bytes = await readBytes(exchange, limits);
  if (bytes.length === 0) return undefined;
  checkType(exchange.incoming.headers["content-type"] ?? "");
  return decode(bytes);
}

/** JSON is UTF-8. A body with another charset is refused, because reading it as UTF-8 could change its meaning. */
function checkType(contentType: string): void {
  const [type, ...parameters] = contentType
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  if (type !== "application/json") {
    throw new WritError("UNSUPPORTED_MEDIA_TYPE", "the body must be JSON: Content-Type: application/json");
  }
  const charset = parameters.find((one) => one.startsWith("charset="))?.slice("charset=".length);
  if (charset === undefined || ["utf-8", '"utf-8"', "utf8"].includes(charset)) return;
  throw new WritError(
    "UNSUPPORTED_MEDIA_TYPE",
    `Content-Type: the charset ${charset.slice(0, 40)} is not read; send JSON in UTF-8`,
  );
}

/**
 * A body of many short keys takes several times as long as one of the same size with fewer, and the hub serves no other
 * call meanwhile: 90,000 keys took half a second. In real bodies a key and its value take more than 32 bytes; of
 * batches, which are larger, 100 keys for each of 1,000 jobs are enough.
 */
export function keysMaxOf(bytesMax: number): number {
  return Math.min(100_000, bytesMax / 32);
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch {
    // The decoder names neither the byte nor its position.
    throw new WritError("INVALID_JSON", "the body is not UTF-8");
  }
}

function tooLarge(bytesMax: number): WritError {
  return new WritError("TOO_LARGE", `the body may have at most ${bytesMax} bytes`, { bytes_max: bytesMax });
}
