import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { createApp } from "./app.ts";
import type { HttpDeps } from "./call.ts";
import { type Exchange, openExchange } from "./exchange.ts";
import { type FoundRoute, findRoute } from "./find-route.ts";
import { logCall } from "./log-call.ts";
import { checkHost, refuse } from "./refuse.ts";
import { type Reply, sendReply } from "./reply.ts";
import { serveRoute } from "./serve-route.ts";

export type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/**
 * Answers every request. The frequent ones are found by `findRoute` and answered from here, without the framework and
 * the objects that it makes for each request; the rest goes through Hono. Both end in `serveRoute`.
 */
export function createListener(deps: HttpDeps): Listener {
  const answerByHono = getRequestListener(createApp(deps).fetch, { overrideGlobalObjects: false });
  return (incoming, outgoing) => {
    const { url = "" } = incoming;
    const found = findRoute(incoming.method, url);
    if (found === null) void answerByHono(incoming, outgoing);
    else void answerDirectly(deps, found, openExchange(incoming, outgoing, url));
  };
}

async function answerDirectly(deps: HttpDeps, found: FoundRoute, exchange: Exchange): Promise<void> {
  try {
    const reply = await replyOf(deps, found, exchange);
    logCall(deps, exchange, reply.status);
    sendReply(exchange.outgoing, reply);
  } catch (error) {
    deps.failures.error(error, "a request could not be answered", { route: found.name });
    exchange.outgoing.destroy();
  }
}

async function replyOf(deps: HttpDeps, { name, params }: FoundRoute, exchange: Exchange): Promise<Reply> {
  try {
    checkHost(exchange.incoming);
    return await serveRoute(deps, { name, exchange, params, queries: {} });
  } catch (error) {
    return refuse(deps, exchange, error);
  }
}
