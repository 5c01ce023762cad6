import { routes } from "../../contract/routes.ts";
import type { HttpDeps } from "./call.ts";
import type { Exchange } from "./exchange.ts";

/** One line per call: who, what, which job, how it ended. */
export function logCall(deps: HttpDeps, exchange: Exchange, status: number): void {
  const { route, identity, path } = exchange;
  const method = exchange.incoming.method ?? "";
  const known = route === null ? null : routes[route];
  deps.metrics.requests.inc({ method: known?.method ?? "other", route: known?.path ?? "other", status });
  if (!deps.logger.isLevelEnabled("info")) return;
  deps.logger.info(
    {
      // What follows is a permission, and the path is of a request that was not for it.
      route: route ?? path.replace(/(\/objects\/).*/, "$1"),
      method,
      status,
      user: identity?.userId,
      tenant: identity?.tenantId,
      job: route === null ? undefined : jobIn(path),
      request_id: exchange.requestId ?? undefined,
    },
    "call",
  );
}

function jobIn(path: string): string | undefined {
  return /\/jobs\/([0-9a-f-]{36})(?:\/|$)/.exec(path)?.[1];
}
