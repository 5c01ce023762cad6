import type { IncomingMessage, ServerResponse } from "node:http";
import type { RouteName } from "../../contract/routes/routes.ts";
import { WritError } from "../../core/errors.ts";
import type { Identity } from "../../core/identity.ts";

/** What comes before the body of a request. */
export type RequestHead = Pick<IncomingMessage, "method" | "url" | "headers" | "rawHeaders" | "socket">;

/** A request and its response while they are served, with the facts for the log. */
export type Exchange = {
  readonly incoming: RequestHead;
  /** Tells when the caller no longer waits. */
  readonly outgoing: Pick<ServerResponse, "destroyed"> & {
    once(event: "close", listener: () => void): unknown;
  };
  /** The body of a request in a frame, or Node's request and response, for one that came over HTTP. */
  readonly via: FramedBody | NodeExchange;
  /** Without the query. Characters that need no encoding are decoded, so that a path is found however it is spelled. */
  readonly path: string;
  /** What follows the question mark. */
  readonly search: string;
  /** Null until a route was found. */
  route: RouteName | null;
  /** Null until the caller is known. */
  identity: Identity | null;
  /** Set when the request was refused. */
  requestId: string | null;
  /** The worker that claims. */
  workerId?: string;
  /** The jobs that the call has created. */
  jobIds: readonly string[];
};

type FramedBody = { body: Buffer };
type NodeExchange = { incoming: IncomingMessage; outgoing: ServerResponse };

export function openExchange(incoming: IncomingMessage, outgoing: ServerResponse): Exchange {
  return newExchange(targetOf(incoming.url ?? ""), { incoming, outgoing, via: { incoming, outgoing } });
}

/** What every exchange begins with. */
export function newExchange(
  target: Pick<Exchange, "path" | "search">,
  { incoming, outgoing, via }: Pick<Exchange, "incoming" | "outgoing" | "via">,
): Exchange {
  const { path, search } = target;
  return { incoming, outgoing, via, path, search, route: null, identity: null, requestId: null, jobIds: [] };
}

export function targetOf(url: string): Pick<Exchange, "path" | "search"> {
  // A proxy may send the whole address.
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "") || "/";
  const end = target.indexOf("?");
  const path = spelledPlainly(end === -1 ? target : target.slice(0, end));
  return { path, search: end === -1 ? "" : target.slice(end + 1) };
}

/** For what needs a response of its own, such as a stream: such routes are not served in frames. */
export function overHttp({ via }: Pick<Exchange, "via">): NodeExchange {
  if ("body" in via) throw notInFrames();
  return via;
}

/** The caller sends the request again, over HTTP. */
export function notInFrames(): WritError {
  return new WritError("NOT_IN_FRAMES", "this is not served in frames; send the request over HTTP");
}

/**
 * Decodes a path except slashes and percent signs: parameters are decoded once, after the path was split into parts.
 */
function spelledPlainly(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURI(path.replaceAll("%25", "%2525"));
  } catch {
    // Not a valid encoding: the router finds no route, or the route's shape refuses it.
    return path;
  }
}

/** Every value of a header, in order, so that a second value is noticed where only one is allowed. */
export function headerValues({ rawHeaders }: RequestHead, name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index]!;
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[index + 1]!);
  }
  return values;
}

/** The value of a header; several are joined with commas. */
export function headerOf({ incoming }: Pick<Exchange, "incoming">, name: string): string | undefined {
  const given = incoming.headers[name];
  return Array.isArray(given) ? given.join(", ") : given;
}

/**
 * HEAD is served like GET. It is refused where the body would be a leased job or a stream, which the caller would not
 * receive.
 */
export function refuseHead({ incoming }: Pick<Exchange, "incoming">): void {
  if (incoming.method !== "HEAD") return;
  throw new WritError("METHOD_NOT_ALLOWED", "HEAD is not allowed on this path; use GET", { allow: "GET" });
}
