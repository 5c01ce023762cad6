import type { RouteInput } from "../../contract/routes/build-request.ts";
import { callRoute } from "../../contract/routes/call-route.ts";
import type { Received, RouteAnswer } from "../../contract/routes/read-answer.ts";
import type { Route } from "../../contract/routes/route.ts";
import { hasCode, WritError } from "../../core/errors.ts";
import { refused, sessionHeaders, sessionId } from "./session.ts";

/** A call without an answer for this long counts as lost; the page says so and tries again. */
const callMsMax = 30_000;

/** Calls a route of this hub as the person who is signed in. Refusals are thrown as the hub's own errors. */
export async function callHub<R extends Route>(route: R, input: RouteInput<R>): Promise<RouteAnswer<R>> {
  const id = sessionId();
  try {
    return await callRoute(send, route, input);
  } catch (error) {
    if (hasCode(error, "UNAUTHENTICATED")) refused(error, id);
    throw error;
  }
}

async function send(request: {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Uint8Array | undefined;
}): Promise<Received> {
  const { method, path, body } = request;
  const headers = { ...request.headers, ...sessionHeaders() };
  const response = await reach(path, { method, headers, body: body as BodyInit | undefined });
  const text = await response.text();
  return {
    status: response.status,
    header: (name) => response.headers.get(name) ?? undefined,
    text: () => text,
  };
}

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...init, cache: "no-store", signal: AbortSignal.timeout(callMsMax) });
  } catch {
    // The browser does not tell why: the hub is away, or the call took too long.
    throw new WritError("HUB_UNREACHABLE", "the hub does not answer");
  }
}

/** What went wrong, as a sentence for people. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message } = error;
  return message.charAt(0).toUpperCase() + message.slice(1);
}
