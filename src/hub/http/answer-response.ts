import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { answerRow, type Route } from "../../contract/route.ts";
import { type AnyAnswer, written } from "./call.ts";

/** The one place where the answer of a handler becomes a response. */
export function answerResponse(route: Route, { status, headers, body }: AnyAnswer): Response {
  if (body === written) return RESPONSE_ALREADY_SENT;
  if (body === undefined) return new Response(null, { status, headers });
  const type = answerRow(route, status)?.type;
  if (type === undefined) return Response.json(body, { status, headers });
  return new Response(body as string, { status, headers: { "Content-Type": type, ...headers } });
}
