import { probeRoutes } from "../../contract/routes/probe-routes.ts";
import { WritError } from "../../core/errors.ts";
import { authenticate } from "../use-cases/access/authenticate.ts";
import { readMetrics } from "../use-cases/access/read-metrics.ts";
import { recordDenial } from "../use-cases/access/record-denial.ts";
import { apiPrefixes } from "./api-prefixes.ts";
import type { Endpoint } from "./app.ts";
import type { HttpDeps } from "./call.ts";
import { credentialsOf, originOf } from "./credentials.ts";
import { createHealth } from "./health.ts";
import type { Router } from "./router.ts";

/** The endpoints for monitoring, below both prefixes and without one. */
export function addProbes(router: Router<Endpoint>, deps: HttpDeps): void {
  const health = createHealth(deps);
  const endpoints = { getHealth: health, getReadiness: health, getMetrics: serveMetrics(deps) };
  for (const name of Object.keys(probeRoutes) as (keyof typeof probeRoutes)[]) {
    const { method, path } = probeRoutes[name];
    for (const prefix of ["", ...apiPrefixes]) router.add(method, `${prefix}${path}`, endpoints[name]);
  }
}

function serveMetrics(deps: HttpDeps): Endpoint {
  const { method, path } = probeRoutes.getMetrics;
  return async ({ incoming }) => {
    const origin = originOf(incoming, deps.settings, { method, endpoint: path });
    const identity = await authenticate(deps, credentialsOf(deps, incoming), origin);
    if (identity.role !== "admin" && identity.role !== "viewer") {
      const denied = new WritError("PERMISSION_DENIED", "metrics need a viewer or admin token");
      const caller = { identity, origin: { ...origin, userId: identity.userId } };
      throw await recordDenial(deps, caller, denied);
    }
    const headers = { "Content-Type": deps.metrics.registry.contentType };
    return { status: 200, headers, body: await readMetrics(deps, identity) };
  };
}
