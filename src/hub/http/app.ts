import { Hono } from "hono";
import type { Route } from "../../contract/routes/route.ts";
import { routes } from "../../contract/routes/routes.ts";
import { WritError } from "../../core/errors.ts";
import { authenticate } from "../use-cases/access/authenticate.ts";
import { readMetrics } from "../use-cases/access/read-metrics.ts";
import { recordDenial } from "../use-cases/access/record-denial.ts";
import { apiPrefixes } from "./api-prefixes.ts";
import { bindRoutes } from "./bind-routes.ts";
import type { HttpContext, HttpDeps, HttpEnv } from "./call.ts";
import { credentialsOf, originOf } from "./credentials.ts";
import { openExchange } from "./exchange.ts";
import { createHealth } from "./health.ts";
import { logCall } from "./log-call.ts";
import { bindPages } from "./pages/pages.ts";
import { checkHost, refuse } from "./refuse.ts";
import { responseOf } from "./reply.ts";

/** Everything that the hub serves over HTTP: `createListener` answers frequent calls without it. */
export function createApp(deps: HttpDeps): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>();
  app.use(async (context, next) => {
    const { incoming, outgoing } = context.env;
    const exchange = openExchange(incoming, outgoing, context.req.path);
    context.set("exchange", exchange);
    await next();
    logCall(deps, exchange, context.res.status);
  });
  app.use((context, next) => {
    checkHost(context.env.incoming);
    return next();
  });
  const answerError = async (context: HttpContext, error: unknown) =>
    responseOf(await refuse(deps, context.get("exchange"), error));
  app.onError((error, context) => answerError(context, error));
  bindHealth(app, deps);
  const answerReader = bindPages(app, deps);
  app.notFound((context) => answerReader(context) ?? answerError(context, unmatched(context)));
  bindRoutes(app, deps);
  return app;
}

/** A path that exists with another method is 405, everything else 404. */
function unmatched(context: HttpContext): WritError {
  const path = context.req.path.replace(/^\/api(\/v1)?/, "");
  const here = (Object.values(routes) as Route[]).filter((route) => {
    const pattern = route.path.replaceAll(/:(\w+)/g, (_, name) => (name === route.tail ? ".+" : "[^/]+"));
    return new RegExp(`^${pattern}$`).test(path);
  });
  if (here.some((route) => route.method === context.req.method)) {
    return new WritError("NOT_FOUND", "there is no such path; paths of the API begin with /api/v1");
  }
  if (here.length > 0) {
    const allow = [...new Set(here.map((route) => route.method))].join(", ");
    return new WritError("METHOD_NOT_ALLOWED", `${context.req.method} is not allowed on this path`, {
      allow,
    });
  }
  return new WritError("NOT_FOUND", "there is no such path; /api/docs lists all paths");
}

function bindHealth(app: Hono<HttpEnv>, deps: HttpDeps): void {
  const health = createHealth(deps);
  for (const prefix of ["", ...apiPrefixes]) {
    app.get(`${prefix}/healthz`, health);
    app.get(`${prefix}/readyz`, health);
    app.get(`${prefix}/metrics`, async (context) => {
      const { incoming } = context.env;
      const origin = originOf(incoming, deps.settings, { method: "GET", endpoint: "/metrics" });
      const identity = await authenticate(deps, credentialsOf(incoming), origin);
      if (identity.role !== "admin" && identity.role !== "viewer") {
        const denied = new WritError("PERMISSION_DENIED", "metrics need a viewer or admin token");
        const caller = { identity, origin: { ...origin, userId: identity.userId } };
        throw await recordDenial(deps, caller, denied);
      }
      const headers = { "Content-Type": deps.metrics.registry.contentType };
      return new Response(await readMetrics(deps, identity), { headers });
    });
  }
}
