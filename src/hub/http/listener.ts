import type { IncomingMessage, ServerResponse } from "node:http";
import { type App, createApp } from "./app.ts";
import type { HttpDeps } from "./call.ts";
import { openExchange } from "./exchange.ts";
import { sendReply } from "./reply.ts";

export type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** Answers every request of a server with what the app replies. */
export function createListener(deps: HttpDeps, app: App = createApp(deps)): Listener {
  return async (incoming, outgoing) => {
    const exchange = openExchange(incoming, outgoing);
    try {
      sendReply(outgoing, await app(exchange));
    } catch (error) {
      deps.failures.error(error, "a request could not be answered", { route: exchange.route });
      outgoing.destroy();
    }
  };
}
