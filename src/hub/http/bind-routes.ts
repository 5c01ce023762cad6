import type { Hono } from "hono";
import type { Route } from "../../contract/routes/route.ts";
import { type RouteName, routes } from "../../contract/routes/routes.ts";
import { apiPrefixes } from "./api-prefixes.ts";
import type { HttpDeps, HttpEnv } from "./call.ts";
import { responseOf } from "./reply.ts";
import { serveRoute } from "./serve-route.ts";

/** Lets Hono find every route of the contract. */
export function bindRoutes(app: Hono<HttpEnv>, deps: HttpDeps): void {
  for (const name of literalPathsFirst()) {
    const route: Route = routes[name];
    for (const prefix of apiPrefixes) {
      app.on(route.method, `${prefix}${patternOf(route)}`, async (context) => {
        const params = context.req.param() as Record<string, string>;
        const queries = context.req.queries();
        return responseOf(
          await serveRoute(deps, { name, exchange: context.get("exchange"), params, queries }),
        );
      });
    }
  }
}

function patternOf({ path, tail }: Route): string {
  return tail === undefined ? path : path.replace(`:${tail}`, `:${tail}{.+}`);
}

/** `/jobs/pending` must be tried before `/jobs/:id`. */
function literalPathsFirst(): RouteName[] {
  const parameters = (name: RouteName) => routes[name].path.split(":").length;
  return (Object.keys(routes) as RouteName[]).sort((a, b) => parameters(a) - parameters(b));
}
