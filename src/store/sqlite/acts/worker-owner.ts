import type { WorkerOwner } from "../../workers/worker-owner.ts";
import type { Context } from "../context.ts";

/** A registered worker's owner; else that of the newest valid token that names it; null for a free name. */
export function getWorkerOwner(
  context: Context,
  { workerId, nowMs }: { workerId: string; nowMs: number },
): WorkerOwner | null {
  const registered = context.sql.first<WorkerOwner>(
    "SELECT json_extract(facts, '$.tenantId') AS tenantId FROM workers WHERE id = ?",
    workerId,
  );
  if (registered !== null) return registered;
  return context.sql.first<WorkerOwner>(
    `SELECT tenant_id AS tenantId FROM tokens WHERE worker_id = ? AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > ?) ORDER BY rowid DESC LIMIT 1`,
    workerId,
    nowMs,
  );
}

/** The worker gets another owner. Its key was the former owner's, so the next registration may bring a new one. */
export function moveWorker(context: Context, workerId: string, { tenantId }: WorkerOwner): void {
  context.sql.run(
    "UPDATE workers SET facts = json_set(facts, '$.tenantId', ?), public_key = NULL WHERE id = ?",
    tenantId,
    workerId,
  );
}
