import type { WorkerRecord } from "../worker-store.ts";

/** What a database stores of a worker. SQLite has numbers for yes and no. */
export type WorkerRow = {
  id: string;
  name: string | null;
  facts: string;
  slots: number;
  key_ids: string;
  public_key: string | null;
  version: string | null;
  status: "active" | "inactive";
  blocked: number | boolean;
  draining: number | boolean;
  refused_claims: number;
  paused_until: number | null;
  registered_at: number;
  last_heartbeat: number;
  completed: number;
  failed: number;
};

export function readWorkerRow(
  row: WorkerRow,
  { currentJobs, jobCounts }: Pick<WorkerRecord, "currentJobs" | "jobCounts">,
): WorkerRecord {
  return {
    id: row.id,
    name: row.name,
    facts: JSON.parse(row.facts),
    slots: row.slots,
    keyIds: JSON.parse(row.key_ids),
    publicKey: row.public_key,
    version: row.version,
    status: row.status,
    blocked: Boolean(row.blocked),
    draining: Boolean(row.draining),
    refusedClaims: row.refused_claims,
    pausedUntil: row.paused_until,
    registeredAt: row.registered_at,
    lastHeartbeat: row.last_heartbeat,
    currentJobs,
    jobCounts,
  };
}
