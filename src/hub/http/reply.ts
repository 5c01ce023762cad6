import type { ServerResponse } from "node:http";
import { JsonText } from "../../contract/routes/build-request.ts";
import { answerRow, type Route } from "../../contract/routes/route.ts";
import { type AnyAnswer, written } from "./call.ts";
import { keepAliveHeaders } from "./keep-alive.ts";

/**
 * The reply to the caller. The body is null if there is none, or `written` if the handler has sent it. Why: ADR 0024.
 */
export type Reply = {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array<ArrayBuffer> | null | typeof written;
};

const json = { "Content-Type": "application/json" } as const;

/** The one place where the answer of a handler becomes a reply. */
export function replyTo(route: Route, { status, headers = {}, body }: AnyAnswer): Reply {
  if (body === written) return { status, headers, body };
  if (body === undefined) return { status, headers, body: null };
  if (body instanceof JsonText) return jsonReply(status, body.text, headers);
  const type = answerRow(route, status)?.type;
  if (type === undefined) return jsonReply(status, JSON.stringify(body), headers);
  return { status, headers: { "Content-Type": type, ...headers }, body: body as string };
}

export function jsonReply(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  return { status, headers: { ...json, ...headers }, body };
}

/** A reply to HEAD has no length: the body of GET may be compressed, and then has another length. */
export function sendReply(outgoing: ServerResponse, { status, headers: own, body }: Reply): void {
  if (body === written || outgoing.destroyed) return;
  const headers = { ...own, ...keepAliveHeaders(outgoing) };
  if (body === null || outgoing.req.method === "HEAD") {
    outgoing.writeHead(status, headers).end();
    return;
  }
  outgoing.writeHead(status, { ...headers, "Content-Length": Buffer.byteLength(body) }).end(body);
}
