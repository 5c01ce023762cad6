import { buildRequest, type RouteInput, type RouteRequest } from "./build-request.ts";
import { type Received, type RouteAnswer, readAnswer, successRow } from "./read-answer.ts";
import type { Route } from "./route.ts";

/** Calls a route over any HTTP client; input and response are typed by the route's row. Why: ADR 0024. */
export async function callRoute<R extends Route>(
  send: (request: RouteRequest) => Promise<Received>,
  route: R,
  input: RouteInput<R>,
): Promise<RouteAnswer<R>> {
  return readAnswer(route, await send(buildRequest(route, input)));
}

/** The same without reading the body, for a caller that knows more about its form than the shape says. */
export async function callRouteForText<R extends Route>(
  send: (request: RouteRequest) => Promise<Received>,
  route: R,
  input: RouteInput<R>,
): Promise<Received> {
  const received = await send(buildRequest(route, input));
  successRow(route, received);
  return received;
}

/** A response whose body arrives in pieces. */
type OpenAnswer = Omit<Received, "text"> & { body: AsyncIterable<Uint8Array> };

// An error of the hub is a few hundred bytes; something longer is a proxy's page, and its beginning is enough.
const errorBytesMax = 64 * 1024;

/** The same for a route whose response is a stream. A refusal is read and thrown as the hub's error. */
export async function openRoute<R extends Route, A extends OpenAnswer>(
  open: (request: RouteRequest) => Promise<A>,
  route: R,
  input: RouteInput<R>,
): Promise<A> {
  const answer = await open(buildRequest(route, input));
  const { status, from, header } = answer;
  const text = status < 300 ? "" : await readStart(answer.body);
  successRow(route, { status, from, header, text: () => text });
  return answer;
}

async function readStart(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > errorBytesMax) break;
  }
  return text;
}
