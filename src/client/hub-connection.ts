import type { IncomingHttpHeaders } from "node:http";
import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { answerRow, type Route } from "../contract/route.ts";
import { hasCode, WritError } from "../core/errors.ts";
import { type Clock, systemClock } from "../runtime/clock.ts";
import { createHttpClient, type HttpClient, throwForStatus } from "../runtime/http-client.ts";
import { createHttpResponse } from "../runtime/http-response.ts";
import { findHub, type HubPlace } from "./find-hub.ts";
import type { WritOptions } from "./options.ts";

export type RouteCall = {
  params?: Record<string, string>;
  query?: Record<string, string | number | boolean | undefined>;
  /** JSON text that is sent as it stands; everything else is made into JSON. */
  body?: unknown;
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
};

export type RouteAnswer = { status: number; headers: IncomingHttpHeaders; body: unknown };
export type RouteStream = { headers: IncomingHttpHeaders; body: AsyncIterable<Buffer> };

/** JSON that has been written already. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

// Longer than any commit takes on a slow disk, short enough that a caller learns of a dead hub.
const CALL_MS_MAX = 30_000;
// An event stream says something at least every 15 s, so three silent turns mean that the connection is dead. An
// output may be silent for as long as its job is; then it is taken up again, which costs a request.
const STREAM_SILENCE_MS_MAX = 45_000;
// An error of the hub is a few hundred bytes.
const ERROR_BYTES_MAX = 64 * 1024;

/** Calls the rows of the contract. It finds its hub at the first call, and again after one could not be reached. */
export class HubConnection {
  readonly clock: Clock;
  readonly random: () => number;
  readonly #options: WritOptions;
  #current: { place: HubPlace; client: HttpClient } | undefined;
  #isDoubtful = false;
  #isClosed = false;

  constructor(options: WritOptions) {
    this.#options = options;
    this.clock = options.clock ?? systemClock;
    this.random = options.random ?? Math.random;
  }

  async call(route: Route, call: RouteCall = {}): Promise<RouteAnswer> {
    const response = await this.#with((client) =>
      client.request({
        method: route.method,
        path: pathOf(route, call),
        ...encode(call.body),
        signal: call.signal,
        timeoutMs: call.timeoutMs ?? CALL_MS_MAX,
        okStatuses: Object.keys(route.answers)
          .map(Number)
          .filter((status) => status < 300),
      }),
    );
    const shape = answerRow(route, response.status)?.shape;
    const body = shape === undefined ? undefined : checked(shape, response.json());
    return { status: response.status, headers: response.headers, body };
  }

  /** Opens a route whose answer is a stream; a refusal is thrown as the hub's error. */
  async stream(
    route: Route,
    call: RouteCall & { signal: AbortSignal; headers?: Record<string, string> },
  ): Promise<RouteStream> {
    const { signal, headers = {} } = call;
    const path = pathOf(route, call);
    const {
      status,
      headers: answered,
      body,
    } = await this.#with((client) =>
      client.openStream({ path, headers, signal, idleTimeoutMs: STREAM_SILENCE_MS_MAX }),
    );
    if (status === 200 || status === 206) return { headers: answered, body };
    throwForStatus(createHttpResponse(status, answered, await readSome(body)));
    throw new WritError("HTTP_ERROR", `the hub answered a stream with status ${status}`, { status });
  }

  async urls(): Promise<string[]> {
    return (await findHub(this.#options)).urls;
  }

  close(): void {
    this.#isClosed = true;
    this.#current?.client.close();
  }

  async #with<T>(act: (client: HttpClient) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new WritError("HUB_UNREACHABLE", "this client has been closed");
    const client = await this.#open();
    try {
      return await act(client);
    } catch (error) {
      if (hasCode(error, "HUB_UNREACHABLE")) this.#isDoubtful = true;
      throw error;
    }
  }

  /** A hub that comes back may have another port or token; both are in its home, so that is read again. */
  async #open(): Promise<HttpClient> {
    if (this.#current !== undefined && !(this.#isDoubtful && this.#options.home !== undefined)) {
      return this.#current.client;
    }
    const place = await findHub(this.#options);
    this.#isDoubtful = false;
    if (this.#current === undefined || !isDeepStrictEqual(place, this.#current.place)) {
      this.#current?.client.close();
      const { urls, ...trust } = place;
      this.#current = { place, client: createHttpClient({ baseUrls: urls, ...trust, clock: this.clock }) };
    }
    return this.#current.client;
  }
}

function pathOf(route: Route, { params = {}, query = {} }: RouteCall): string {
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return `/api/v1${path}${search.size === 0 ? "" : `?${search}`}`;
}

function encode(body: unknown): { body?: unknown; headers?: Record<string, string> } {
  if (!(body instanceof JsonText)) return { body };
  return { body: Buffer.from(body.text), headers: { "content-type": "application/json" } };
}

/** The answer itself, once it has the shape: a newer hub's further fields stay in it. */
function checked(shape: z.ZodType, body: unknown): unknown {
  const { success, error } = shape.safeParse(body);
  if (success) return body;
  const [issue] = error.issues;
  throw new WritError(
    "HTTP_ERROR",
    `the hub's answer is not understood at ${issue?.path.join(".") || "its root"}`,
  );
}

async function readSome(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > ERROR_BYTES_MAX) break;
  }
  return Buffer.concat(chunks);
}
