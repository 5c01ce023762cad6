import { isAbsolute } from "node:path";
import { refusedSetting } from "./secret-setting.ts";
import type { HubSettings } from "./settings.ts";

/** The interval of heartbeats. A short lease makes it shorter, because a worker renews three times in each. */
const heartbeatMsDefault = 10_000;

/** Otherwise every worker would become inactive between two of its heartbeats. */
export function checkInactivity({
  workerInactiveMs,
  leaseMs,
}: Pick<HubSettings, "workerInactiveMs" | "leaseMs">): void {
  const heartbeatMs = Math.round(Math.min(heartbeatMsDefault, leaseMs / 3));
  if (workerInactiveMs > heartbeatMs) return;
  const name = "WRIT_WORKER_INACTIVE_MS";
  const rest = `workers send a heartbeat every ${heartbeatMs} ms; use more than that, or a shorter WRIT_LEASE_MS`;
  throw refusedSetting(name, `${name}: ${workerInactiveMs} is not allowed; ${rest}`);
}

/** With SQLite, outputs are in the home; a folder that is never used would give a false sense of safety. */
export function checkOutputsDir({
  outputsDir,
  databaseUrl,
}: Pick<HubSettings, "outputsDir" | "databaseUrl">): void {
  if (outputsDir === null) return;
  const name = "WRIT_OUTPUTS_DIR";
  const alone = "is only for hubs that share a PostgreSQL database; set WRIT_DATABASE_URL too";
  if (databaseUrl === null) throw refusedSetting(name, `${name}: ${alone}`);
  if (!isAbsolute(outputsDir))
    throw refusedSetting(name, `${name}: ${outputsDir} is not allowed; use an absolute path`);
}
