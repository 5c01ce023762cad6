import { type Agent, type IncomingHttpHeaders, request } from "node:http";

export type CallOptions = {
  token?: string;
  /** Sent as JSON; text and bytes go out as they are. */
  body?: unknown;
  headers?: Record<string, string | string[]>;
  /** Sends the body without saying how long it is. */
  chunked?: boolean;
  /** Another address of this machine to call from, such as 127.0.0.2. */
  from?: string;
  signal?: AbortSignal;
};

export type Answer = {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  text: string;
  /** The code of an error; undefined for anything else. */
  code: string | undefined;
  json<T = Record<string, unknown>>(): T;
};

type Target = { method: string; port: number; path: string };

/** One call over a real socket. Nothing is filled in or repaired on the way, so bad requests arrive as they are. */
export function callHttp(agent: Agent, target: Target, options: CallOptions): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const body = bytesOf(options.body);
  const headers = { ...headersFor(options, body), ...options.headers };
  const { from: localAddress, signal } = options;
  const outgoing = request({ host: "127.0.0.1", ...target, agent, headers, localAddress, signal });
  let answered = false;
  outgoing.on("response", (incoming) => {
    answered = true;
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("error", reject);
    incoming.on("end", () =>
      resolve(answerOf(incoming.statusCode ?? 0, incoming.headers, Buffer.concat(chunks))),
    );
  });
  // A hub that refuses a large body answers and hangs up while we still write; the answer is what counts.
  outgoing.on("error", (error) => (answered ? undefined : reject(error)));
  outgoing.end(body);
  return promise;
}

function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

function headersFor(options: CallOptions, body: Buffer | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  if (options.token !== undefined) headers["Authorization"] = `Bearer ${options.token}`;
  if (body === undefined) return headers;
  headers["Content-Type"] = "application/json";
  if (options.chunked === true) headers["Transfer-Encoding"] = "chunked";
  else headers["Content-Length"] = String(body.length);
  return headers;
}

function answerOf(status: number, headers: IncomingHttpHeaders, bytes: Buffer): Answer {
  const text = bytes.toString("utf8");
  const json = <T>() => JSON.parse(text) as T;
  const isJson = headers["content-type"]?.startsWith("application/json") === true;
  // The answer to a HEAD has no body, and a failing health check is not an error.
  const isError = status >= 400 && isJson && text !== "" && errorOf(text) !== undefined;
  return { status, headers, bytes, text, json, code: isError ? errorOf(text).code : undefined };
}

/** The error in a refusal's body. */
export function errorOf(text: string): {
  code: string;
  message: string;
  details?: { issues?: { path: string; message: string }[]; [key: string]: unknown };
  request_id: string;
} {
  return JSON.parse(text).error;
}
