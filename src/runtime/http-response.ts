import type { IncomingHttpHeaders } from "node:http";
import { isErrorCode, WritError } from "../core/errors.ts";

export type HttpResponse = {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  text(): string;
  json<T>(): T;
};

export type HttpStream = { status: number; headers: IncomingHttpHeaders; body: AsyncIterable<Buffer> };

export function createHttpResponse(
  status: number,
  headers: IncomingHttpHeaders,
  bytes: Buffer,
): HttpResponse {
  const text = (): string => bytes.toString("utf8");
  return { status, headers, bytes, text, json: <T>() => parseJson<T>(status, text()) };
}

/**
 * Gives back a response of success and throws the hub's own error otherwise, with the hub's details and
 * the status. What does not look like an answer of the hub (a proxy's page, say) becomes HTTP_ERROR.
 */
export function throwForStatus(response: HttpResponse): HttpResponse {
  if (response.status >= 200 && response.status < 300) return response;
  const error = readHubError(response);
  const details = { ...error?.details, status: response.status };
  if (error !== undefined && isErrorCode(error.code)) throw new WritError(error.code, error.message, details);
  const reason = error === undefined ? "" : ` (${error.code}: ${error.message})`;
  throw new WritError("HTTP_ERROR", `the hub answered with status ${response.status}${reason}`, details);
}

// An error's body is a few lines; this much of it is read, and the rest is left.
const ERROR_BYTES_MAX = 1024 * 1024;

/** Reads a stream that turned out to be a short answer, such as an error to hand to `throwForStatus`. */
export async function readStream({ status, headers, body }: HttpStream): Promise<HttpResponse> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= ERROR_BYTES_MAX) break;
  }
  return createHttpResponse(status, headers, Buffer.concat(chunks));
}

type HubError = { code: string; message: string; details: Record<string, unknown> | undefined };

function readHubError(response: HttpResponse): HubError | undefined {
  let body: unknown;
  try {
    body = JSON.parse(response.text());
  } catch {
    return undefined;
  }
  const error = isRecord(body) ? body["error"] : undefined;
  if (!isRecord(error) || typeof error["code"] !== "string") return undefined;
  const message = typeof error["message"] === "string" ? error["message"] : error["code"];
  return { code: error["code"], message, details: isRecord(error["details"]) ? error["details"] : undefined };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseJson<T>(status: number, text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new WritError("HTTP_ERROR", `the hub's answer (status ${status}) is not JSON`, { status });
  }
}
