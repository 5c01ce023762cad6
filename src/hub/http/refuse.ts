import { invalidArgument, WritError } from "../../core/errors.ts";
import { discardBody } from "./bodies/discard-body.ts";
import { type HttpDeps, written } from "./call.ts";
import { errorReply } from "./error-reply.ts";
import { type Exchange, headerValues, type RequestHead } from "./exchange.ts";
import type { Reply } from "./reply.ts";

/** Counts a refusal and gives it the id by which the log finds it. */
export async function refuse(deps: HttpDeps, exchange: Exchange, error: unknown): Promise<Reply> {
  const requestId = deps.ids.recordId();
  exchange.requestId = requestId;
  if (error instanceof WritError) deps.metrics.refused.inc({ code: error.code });
  const reply = errorReply(error, requestId, deps);
  if ("body" in exchange.via) return reply;
  const { incoming, outgoing } = exchange.via;
  await discardBody(incoming, deps.clock, error);
  if (!outgoing.headersSent) return reply;
  // A part of the answer was sent before the error; a normal end would make it look complete.
  outgoing.destroy();
  return { ...reply, body: written };
}

/** Two proxies may each use another one of two Host headers, so a request with two is refused. */
export function checkHost(incoming: RequestHead): void {
  if (headerValues(incoming, "host").length > 1) {
    throw invalidArgument({ path: "Host", message: "must be given once" });
  }
}

export function noSuchPath(): WritError {
  return new WritError("NOT_FOUND", "there is no such path; /api/docs lists all paths");
}
