import type { Route } from "../../contract/routes/route.ts";
import { type RouteName, routes } from "../../contract/routes/routes.ts";
import { WritError } from "../../core/errors.ts";
import { apiPrefixes } from "./api-prefixes.ts";
import type { HttpDeps } from "./call.ts";
import type { Exchange } from "./exchange.ts";
import { logCall } from "./log-call.ts";
import { addMcp } from "./mcp/mcp-endpoint.ts";
import { addPages } from "./pages/pages.ts";
import { addProbes } from "./probes.ts";
import { checkHost, noSuchPath, refuse } from "./refuse.ts";
import type { Reply } from "./reply.ts";
import { Router } from "./router.ts";
import { serveRoute } from "./serve-route.ts";

/** Answers the requests of one route or page. */
export type Endpoint = (
  exchange: Exchange,
  params: Readonly<Record<string, string>>,
) => Reply | Promise<Reply>;

/** Answers every request, with the endpoint of its path or with a refusal. */
export type App = (exchange: Exchange) => Promise<Reply>;

/** Everything that the hub serves over HTTP. Why: ADR 0112. */
export function createApp(deps: HttpDeps): App {
  const router = new Router<Endpoint>();
  addRoutes(router, deps);
  addProbes(router, deps);
  addMcp(router, deps);
  const answerReader = addPages(router, deps);
  const answer = async (exchange: Exchange): Promise<Reply> => {
    try {
      checkHost(exchange.incoming);
      const method = exchange.incoming.method ?? "";
      const look = router.look(method, exchange.path);
      if (look.target !== null) return await look.target(exchange, look.params);
      const refusal = unmatched(router, { method, path: exchange.path, allow: look.allow });
      return answerReader(exchange) ?? (await refuse(deps, exchange, refusal));
    } catch (error) {
      return refuse(deps, exchange, error);
    }
  };
  return async (exchange) => {
    const reply = await answer(exchange);
    logCall(deps, exchange, reply.status);
    return reply;
  };
}

/** Every route of the contract, below both prefixes. */
function addRoutes(router: Router<Endpoint>, deps: HttpDeps): void {
  for (const name of Object.keys(routes) as RouteName[]) {
    const { method, path, tail }: Route = routes[name];
    const pattern = tail === undefined ? path : path.replace(`:${tail}`, `:${tail}*`);
    const serve: Endpoint = (exchange, params) => serveRoute(deps, { name, exchange, params });
    for (const prefix of apiPrefixes) router.add(method, `${prefix}${pattern}`, serve);
  }
}

/** A path of the API without its prefix gets a hint, a path that has other methods is 405, everything else 404. */
function unmatched(
  router: Router<Endpoint>,
  { method, path, allow }: { method: string; path: string; allow: readonly string[] },
): WritError {
  if (router.look(method, `/api${path}`).target !== null) {
    return new WritError("NOT_FOUND", "there is no such path; paths of the API begin with /api/v1");
  }
  if (allow.length === 0) return noSuchPath();
  return new WritError("METHOD_NOT_ALLOWED", `${method} is not allowed on this path`, {
    allow: allow.join(", "),
  });
}
