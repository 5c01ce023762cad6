import type { WorkerOwner } from "../workers/worker-owner.ts";
import { type Act, first } from "./act.ts";
import { Columns, json, nullable, text } from "./columns.ts";
import type { ReadDriver, WriteDriver } from "./driver.ts";
import { lockWorker } from "./worker-rows.ts";

const registered = new Columns({ facts: json<WorkerOwner>("facts") });
const named = new Columns<WorkerOwner>({ tenantId: nullable(text("tenant_id")) });

/**
 * A registered worker's owner; else that of the newest valid token that names it; null for a free name. Why: ADR 0026.
 */
export function* getWorkerOwner(
  _: ReadDriver,
  { workerId, nowMs }: { workerId: string; nowMs: number },
): Act<WorkerOwner | null> {
  const worker = yield* first(registered, `SELECT ${registered.list} FROM workers WHERE id = ?`, workerId);
  if (worker !== null) return { tenantId: worker.facts.tenantId };
  return yield* first(
    named,
    `SELECT ${named.list} FROM tokens WHERE worker_id = ? AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > ?) ORDER BY number DESC LIMIT 1`,
    workerId,
    nowMs,
  );
}

/** The worker gets another owner. Its key was the former owner's, so the next registration may bring a new one. */
export function* moveWorker(driver: WriteDriver, workerId: string, { tenantId }: WorkerOwner): Act<void> {
  const worker = yield* lockWorker(driver, workerId);
  if (worker === null) return;
  driver.send(
    "UPDATE workers SET facts = ?, public_key = NULL WHERE id = ?",
    JSON.stringify({ ...worker.facts, tenantId }),
    workerId,
  );
}
