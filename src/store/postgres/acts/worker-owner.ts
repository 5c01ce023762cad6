import type { WorkerOwner } from "../../workers/worker-owner.ts";
import type { Connection } from "../connection/connection.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { lockWorker } from "./worker-row.ts";

/** A registered worker's owner; else that of the newest valid token that names it; null for a free name. */
export async function getWorkerOwner(
  sql: Connection,
  { workerId, nowMs }: { workerId: string; nowMs: number },
): Promise<WorkerOwner | null> {
  const registered = await sql.first<{ facts: string }>("SELECT facts FROM workers WHERE id = $1", workerId);
  if (registered !== null) return { tenantId: (JSON.parse(registered.facts) as WorkerOwner).tenantId };
  return sql.first<WorkerOwner>(
    `SELECT tenant_id AS "tenantId" FROM tokens WHERE worker_id = $1 AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > $2) ORDER BY number DESC LIMIT 1`,
    workerId,
    nowMs,
  );
}

/** The worker gets another owner. Its key was the former owner's, so the next registration may bring a new one. */
export async function moveWorker(
  tx: Transaction,
  workerId: string,
  { tenantId }: WorkerOwner,
): Promise<void> {
  const worker = await lockWorker(tx.sql, workerId);
  if (worker === null) return;
  tx.send(
    "UPDATE workers SET facts = $1, public_key = NULL WHERE id = $2",
    JSON.stringify({ ...worker.facts, tenantId }),
    workerId,
  );
}
