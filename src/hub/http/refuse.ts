import type { IncomingMessage } from "node:http";
import { invalidArgument, WritError } from "../../core/errors.ts";
import { discardBody } from "./bodies/discard-body.ts";
import { type HttpDeps, written } from "./call.ts";
import { errorReply } from "./error-reply.ts";
import { type Exchange, headerValues } from "./exchange.ts";
import type { Reply } from "./reply.ts";

/** Counts a refusal and gives it the id under which the log mentions it. */
export async function refuse(deps: HttpDeps, exchange: Exchange, error: unknown): Promise<Reply> {
  const requestId = deps.ids.recordId();
  exchange.requestId = requestId;
  if (error instanceof WritError) deps.metrics.refused.inc({ code: error.code });
  await discardBody(exchange.incoming, deps.clock, error);
  const reply = errorReply(error, requestId, deps);
  if (!exchange.outgoing.headersSent) return reply;
  // What was sent before the error looks like a good answer as long as it can end.
  exchange.outgoing.destroy();
  return { ...reply, body: written };
}

/** Two proxies may each believe another one of two hosts, so a request with two is meant for nobody. */
export function checkHost(incoming: IncomingMessage): void {
  if (headerValues(incoming, "host").length > 1) {
    throw invalidArgument({ path: "Host", message: "must be given once" });
  }
}

export function noSuchPath(): WritError {
  return new WritError("NOT_FOUND", "there is no such path; /api/docs lists all paths");
}
