import type { HealthView } from "../../contract/routes/probe-routes.ts";
import { WritError } from "../../core/errors.ts";
import { databaseKind } from "../use-cases/access/list-hubs.ts";
import type { HttpDeps } from "./call.ts";
import { jsonReply, type Reply } from "./reply.ts";

/** Those who ask are less patient than callers of the API; clients give up after 4 seconds. */
const answerMsMax = 3_000;

const diskFull = "the disk of the database is full, or was within the last 30 s";

/** Answers whether the hub works, within a bounded time even if the database never answers. Why: ADR 0089. */
export function createHealth(deps: HttpDeps): () => Promise<Reply> {
  // However often it is asked while the database hangs, one question waits there.
  let asking: Promise<HealthView> | null = null;
  return async () => {
    asking ??= lookAt(deps).finally(() => {
      asking = null;
    });
    try {
      const health = await within(asking, answerMsMax);
      // A small write that fits must not make a hub well that cannot store a job: whoever asks would restart it again and again.
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

/** Strangers may read it, so it has the sentence of the error and none of its details. */
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
