import type { HealthView } from "../../contract/routes/probe-routes.ts";
import { WritError } from "../../core/errors.ts";
import { databaseKind } from "../use-cases/access/list-hubs.ts";
import type { HttpDeps } from "./call.ts";
import { jsonReply, type Reply } from "./reply.ts";

/** Health probes have shorter limits than callers of the API; clients give up after 4 seconds. */
const answerMsMax = 3_000;

const diskFull = "the disk of the database is full, or was within the last 30 s";

/** Answers whether the hub works, within a bounded time even if the database never answers. Why: ADR 0089. */
export function createHealth(deps: HttpDeps): () => Promise<Reply> {
  // While the database hangs, all probes share one query.
  let asking: Promise<HealthView> | null = null;
  return async () => {
    asking ??= lookAt(deps).finally(() => {
      asking = null;
    });
    try {
      const health = await within(asking, answerMsMax);
      // A small write that fits does not make a hub healthy that cannot store a job: a supervisor would restart it over
      // and over.
      if (deps.outage.isDiskFull) throw new WritError("STORE_UNAVAILABLE", diskFull);
      return jsonReply(200, JSON.stringify(health));
    } catch (error) {
      return jsonReply(503, JSON.stringify(unhealthy(deps, error)));
    }
  };
}

async function lookAt(deps: HttpDeps): Promise<HealthView> {
  const { store, version, leadership, mqtt } = deps;
  const { schemaVersion } = await store.ping();
  const lockdown = await store.getLockdown();
  return {
    status: lockdown === null ? "ok" : "locked",
    version,
    schema_version: schemaVersion,
    database: databaseKind(deps),
    hubs: leadership.hubs.length,
    leader: leadership.isLeader,
    ...(lockdown && { lockdown: { reason: lockdown.reason, since: lockdown.since } }),
    ...(mqtt && { mqtt: mqtt.state }),
  };
}

/** Callers without a token may read it, so it has the error's message and none of its details. */
function unhealthy({ version }: HttpDeps, error: unknown): HealthView {
  const reason = error instanceof WritError ? error.message : "the database failed; the hub's log says how";
  return { status: "store unavailable", code: "STORE_UNAVAILABLE", reason, version };
}

async function within<T>(answer: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () =>
      late.reject(new WritError("STORE_UNAVAILABLE", `the database does not answer within ${ms / 1000} s`)),
    ms,
  );
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
