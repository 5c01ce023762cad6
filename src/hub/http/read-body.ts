import type { IncomingMessage } from "node:http";
import { WritError } from "../../core/errors.ts";
import type { JsonValue } from "../../core/json-value.ts";
import { parseJson } from "../../signing/parse-json.ts";

/**
 * The body as bytes, never more than allowed: a body that announces a larger length is refused before a byte is read.
 */
export async function readBytes(incoming: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const announced = incoming.headers["content-length"];
  if (announced !== undefined && Number(announced) > bytesMax) throw tooLarge(bytesMax);
  const encoding = incoming.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new WritError("UNSUPPORTED_MEDIA_TYPE", `the body must not be compressed (${encoding})`);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bytesMax) throw tooLarge(bytesMax);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** Strict JSON, or undefined if there is no body. */
export async function readJson(incoming: IncomingMessage, bytesMax: number): Promise<JsonValue | undefined> {
  const bytes = await readBytes(incoming, bytesMax);
  if (bytes.length === 0) return undefined;
  const type = incoming.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new WritError("UNSUPPORTED_MEDIA_TYPE", "the body must be JSON: Content-Type: application/json");
  }
  return parseJson(decode(bytes));
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new WritError("INVALID_JSON", "the body is not UTF-8");
  }
}

function tooLarge(bytesMax: number): WritError {
  return new WritError("TOO_LARGE", `the body may have at most ${bytesMax} bytes`, { bytes_max: bytesMax });
}
