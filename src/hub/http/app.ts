import { Hono } from "hono";
import type { Route } from "../../contract/route.ts";
import { type RouteName, routes } from "../../contract/routes.ts";
import { invalidArgument, WritError } from "../../core/errors.ts";
import type { Identity } from "../../core/identity.ts";
import { authenticate } from "../use-cases/access/authenticate.ts";
import { readMetrics } from "../use-cases/access/read-metrics.ts";
import { recordDenial } from "../use-cases/access/record-denial.ts";
import { adminHandlers } from "./admin-handlers.ts";
import { apiPrefixes } from "./api-prefixes.ts";
import { auditHandlers } from "./audit-handlers.ts";
import { bindRoutes } from "./bind-routes.ts";
import type { HttpContext, HttpDeps, HttpEnv } from "./call.ts";
import { credentialsOf, originOf } from "./credentials.ts";
import { discardBody } from "./discard-body.ts";
import { errorResponse } from "./error-response.ts";
import { fileHandlers } from "./file-handlers.ts";
import { jobHandlers } from "./job-handlers.ts";
import { keyHandlers } from "./key-handlers.ts";
import { bindPages } from "./pages.ts";
import { statisticsHandlers } from "./statistics-handlers.ts";
import { workerHandlers } from "./worker-handlers.ts";

/** Everything that the hub serves over HTTP. */
export function createApp(deps: HttpDeps): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>();
  app.use(async (context, next) => {
    await next();
    logCall(deps, context);
  });
  app.use((context, next) => {
    checkHost(context);
    return next();
  });
  app.onError((error, context) => refuse(deps, context, error));
  app.notFound((context) => refuse(deps, context, unmatched(context)));
  bindHealth(app, deps);
  bindPages(app, deps);
  bindRoutes(app, deps, {
    ...jobHandlers,
    ...fileHandlers,
    ...workerHandlers,
    ...adminHandlers,
    ...keyHandlers,
    ...auditHandlers,
    ...statisticsHandlers,
  });
  return app;
}

/** Two proxies may each believe another one of two hosts, so a request with two is meant for nobody. */
function checkHost(context: HttpContext): void {
  const hosts = context.env.incoming.headersDistinct["host"] ?? [];
  if (hosts.length > 1) throw invalidArgument({ path: "Host", message: "must be given once" });
}

async function refuse(deps: HttpDeps, context: HttpContext, error: unknown): Promise<Response> {
  const requestId = deps.ids.recordId();
  context.set("requestId" as never, requestId as never);
  if (error instanceof WritError) deps.metrics.refused.inc({ code: error.code });
  await discardBody(context.env.incoming, deps.clock, error);
  return errorResponse(error, requestId, deps.logger);
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

/** One line per call: who, what, which job, how it ended. */
function logCall(deps: HttpDeps, context: HttpContext): void {
  const route = context.get("route" as never) as RouteName | undefined;
  const identity = context.get("identity" as never) as Identity | undefined;
  const { status } = context.res;
  const known = route && routes[route];
  deps.metrics.requests.inc({ method: known?.method ?? "other", route: known?.path ?? "other", status });
  deps.logger.info(
    {
      // What follows is a permission, and the path is of a request that was not for it.
      route: route ?? context.req.path.replace(/(\/objects\/).*/, "$1"),
      method: context.req.method,
      status,
      user: identity?.userId,
      tenant: identity?.tenantId,
      job: route === undefined ? undefined : jobIn(context),
      request_id: context.get("requestId" as never),
    },
    "call",
  );
}

function jobIn(context: HttpContext): string | undefined {
  return /\/jobs\/([0-9a-f-]{36})(?:\/|$)/.exec(context.req.path)?.[1];
}

function bindHealth(app: Hono<HttpEnv>, deps: HttpDeps): void {
  for (const prefix of ["", ...apiPrefixes]) {
    app.get(`${prefix}/healthz`, () => health(deps));
    app.get(`${prefix}/readyz`, () => health(deps));
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

async function health(deps: HttpDeps): Promise<Response> {
  try {
    const { schemaVersion } = await deps.store.ping();
    const lockdown = await deps.store.getLockdown();
    const locked = lockdown && { lockdown: { reason: lockdown.reason, since: lockdown.since } };
    const status = lockdown === null ? "ok" : "locked";
    const mqtt = deps.mqtt && { mqtt: deps.mqtt.state };
    return Response.json({
      status,
      version: deps.version,
      schema_version: schemaVersion,
      ...locked,
      ...mqtt,
    });
  } catch {
    return Response.json({ status: "store unavailable", version: deps.version }, { status: 503 });
  }
}
