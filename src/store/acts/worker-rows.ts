import type { WorkerFacts } from "../../core/jobs/queue-key.ts";
import type { WorkerRecord, WorkerRegistration } from "../worker-store.ts";
import { type Act, all, first } from "./act.ts";
import { flag, json, nullable, number, text } from "./columns.ts";
import type { ReadDriver, WriteDriver } from "./driver.ts";

/** What every driver stores of a worker, from `workers` as w. Why: ADR 0111. */
export const workerColumns = {
  id: text("w.id"),
  name: nullable(text("w.name")),
  facts: json<WorkerFacts>("w.facts"),
  slots: number("w.slots"),
  keyIds: json<string[]>("w.key_ids"),
  publicKey: nullable(text("w.public_key")),
  version: nullable(text("w.version")),
  status: text<WorkerRecord["status"]>("w.status"),
  blocked: flag("w.blocked"),
  draining: flag("w.draining"),
  refusedClaims: number("w.refused_claims"),
  pausedUntil: nullable(number("w.paused_until")),
  registeredAt: number("w.registered_at"),
  lastHeartbeat: number("w.last_heartbeat"),
};

export function getWorker(
  { workers }: ReadDriver,
  { workerId }: { workerId: string },
): Act<WorkerRecord | null> {
  return first(workers, `${workers.select} WHERE w.id = ?`, workerId);
}

/** The same for an act that changes the worker. */
export function lockWorker({ workers }: ReadDriver, workerId: string): Act<WorkerRecord | null> {
  return first(workers, `${workers.select} WHERE w.id = ? FOR UPDATE OF w`, workerId);
}

export function listWorkers({ workers }: ReadDriver): Act<WorkerRecord[]> {
  return all(workers, `${workers.select} ORDER BY w.id`);
}

/** A worker that reports is active, except while the hub is locked. */
export const statusNow = "CASE WHEN EXISTS (SELECT 1 FROM lockdown) THEN 'inactive' ELSE 'active' END";

const registeredColumns = `id, name, facts, slots, key_ids, public_key, version, status, blocked, draining,
  registered_at, last_heartbeat`;

/** Its block stays, and so does its key if the registration brings none. */
export function saveWorker(driver: WriteDriver, worker: WorkerRegistration, nowMs: number): void {
  const { counts } = driver.workers;
  driver.send(
    `INSERT INTO workers (${[registeredColumns, ...counts].join(", ")})
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ${statusNow}, FALSE, FALSE, ?8, ?8${", 0".repeat(counts.length)})
      ON CONFLICT (id) DO UPDATE SET name = excluded.name, facts = excluded.facts, slots = excluded.slots,
        key_ids = excluded.key_ids, public_key = coalesce(excluded.public_key, workers.public_key),
        version = excluded.version, status = excluded.status, draining = FALSE,
        last_heartbeat = excluded.last_heartbeat`,
    worker.id,
    worker.name,
    JSON.stringify(worker.facts),
    worker.slots,
    JSON.stringify(worker.keyIds),
    worker.publicKey,
    worker.version,
    nowMs,
  );
  driver.countWorker(worker.id);
}

export function setInactive(driver: WriteDriver, workerId: string): void {
  driver.send("UPDATE workers SET status = 'inactive' WHERE id = ?", workerId);
}
