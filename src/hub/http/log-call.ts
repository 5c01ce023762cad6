import { routes } from "../../contract/routes/routes.ts";
import type { HttpDeps } from "./call.ts";
import type { Exchange } from "./exchange.ts";

/** Logs one line per call: caller, route, job and outcome. */
export function logCall(deps: HttpDeps, exchange: Exchange, status: number): void {
  const { route, identity, path } = exchange;
  const method = exchange.incoming.method ?? "";
  const known = route === null ? null : routes[route];
  deps.metrics.requests.inc({ method: known?.method ?? "other", route: known?.path ?? "other", status });
  if (status === 503 && deps.outage.refused()) return;
  if (!deps.logger.isLevelEnabled("info")) return;
  deps.logger.info(
    {
      // The rest of the path is a permission, and must not be logged.
      route: route ?? path.replace(/(\/objects\/).*/, "$1"),
      method,
      status,
      user: identity?.userId,
      tenant: identity?.tenantId,
      worker: exchange.workerId,
      ...(route === null ? {} : jobsOf(exchange)),
      request_id: exchange.requestId ?? undefined,
    },
    "call",
  );
}

/** More ids than this in one line would make the log grow faster than the database. */
const idsMax = 100;

/** The job of the call, or the jobs that it created: each of them, or the first and the last of a large batch. */
function jobsOf({ path, jobIds }: Exchange): Record<string, unknown> {
  if (jobIds.length <= 1) return { job: jobIds[0] ?? jobIn(path) };
  if (jobIds.length <= idsMax) return { jobs: jobIds };
  return { first_job: jobIds[0], last_job: jobIds.at(-1), job_count: jobIds.length };
}

function jobIn(path: string): string | undefined {
  return /\/jobs\/([0-9a-f-]{36})(?:\/|$)/.exec(path)?.[1];
}
