import type { WorkerRecord } from "../worker-store.ts";
import type { Context } from "./context.ts";
import type { ReadContext } from "./read-context.ts";

type WorkerRow = {
  id: string;
  name: string | null;
  facts: string;
  slots: number;
  key_ids: string;
  public_key: string | null;
  version: string | null;
  status: "active" | "inactive";
  blocked: number;
  draining: number;
  registered_at: number;
  last_heartbeat: number;
  completed: number;
  failed: number;
};

export function getWorker(context: Context, { workerId }: { workerId: string }): WorkerRecord | null {
  const row = context.sql.first<WorkerRow>("SELECT * FROM workers WHERE id = ?", workerId);
  return row && readWorker(context, row);
}

export function listWorkers(context: ReadContext): WorkerRecord[] {
  const rows = context.sql.all<WorkerRow>("SELECT * FROM workers ORDER BY id");
  return rows.map((row) => readWorker(context, row));
}

function readWorker(context: Pick<Context, "workers">, row: WorkerRow): WorkerRecord {
  const { active, completed, failed } = context.workers.of(row.id);
  return {
    id: row.id,
    name: row.name,
    facts: JSON.parse(row.facts),
    slots: row.slots,
    keyIds: JSON.parse(row.key_ids),
    publicKey: row.public_key,
    version: row.version,
    status: row.status,
    blocked: row.blocked === 1,
    draining: row.draining === 1,
    registeredAt: row.registered_at,
    lastHeartbeat: row.last_heartbeat,
    currentJobs: active,
    jobCounts: { completed: row.completed + completed, failed: row.failed + failed },
  };
}
