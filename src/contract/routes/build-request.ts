import type { z } from "zod";
import { apiPrefix, type Route } from "./route.ts";

/** The input of a call to a route; the route's own shapes decide which parts there are. */
export type RouteInput<R extends Route> = ParamsInput<R> &
  QueryInput<R> &
  BodyInput<R> & { headers?: Readonly<Record<string, string>> };

type ParamsInput<R> = R extends { params: infer S extends z.ZodType }
  ? { params: z.input<S> }
  : { params?: undefined };

/** The values as the hub reads them: numbers, booleans and lists, not their text. */
type QueryInput<R> = R extends { query: infer S extends z.ZodType }
  ? Record<never, never> extends z.output<S>
    ? { query?: z.output<S> }
    : { query: z.output<S> }
  : { query?: undefined };

type BodyInput<R> = R extends { bodyKind: "bytes" }
  ? { body: Uint8Array }
  : R extends { body: infer S extends z.ZodType }
    ? undefined extends z.input<S>
      ? { body?: z.input<S> | JsonText }
      : { body: z.input<S> | JsonText }
    : { body?: undefined };

/** JSON that is already serialised and is sent as it is. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A request that any HTTP client can send: fetch in a browser, ours in Node. */
export type RouteRequest = {
  method: Route["method"];
  /** Relative to the root of the hub's address. */
  path: string;
  headers: Record<string, string>;
  body: string | Uint8Array | undefined;
  /** Whether it may be sent again when its answer was lost. */
  mayRepeat: boolean;
};

export function buildRequest<R extends Route>(route: R, input: RouteInput<R>): RouteRequest {
  const { params, query, body, headers } = input as AnyInput;
  const { text, type } = encode(body);
  return {
    method: route.method,
    path: pathOf(route, params, query),
    headers: { ...type, ...headers },
    body: text,
    mayRepeat: route.method !== "POST" || route.mayRepeat === true,
  };
}

/** The same for a route that is not known here; each call was checked against its own route. */
type AnyInput = {
  params?: Record<string, string>;
  query?: Record<string, string | number | boolean | readonly string[] | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
};

function pathOf({ path }: Route, params: AnyInput["params"] = {}, query: AnyInput["query"] = {}): string {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  if (given.length === 0) return apiPrefix + filled;
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return `${apiPrefix}${filled}?${search}`;
}

function encode(body: unknown): { text: RouteRequest["body"]; type: Record<string, string> } {
  if (body === undefined) return { text: undefined, type: {} };
  if (body instanceof Uint8Array) return { text: body, type: { "content-type": "application/octet-stream" } };
  const text = body instanceof JsonText ? body.text : JSON.stringify(body);
  return { text, type: { "content-type": "application/json" } };
}
