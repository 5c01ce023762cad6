import type { WorkerStore } from "../../worker-store.ts";
import type { Connection } from "../connection/connection.ts";
import type { Transaction } from "../transaction/transaction.ts";

type MetricsInput = Parameters<WorkerStore["saveWorkerMetrics"]>[0];

export async function saveWorkerMetrics(tx: Transaction, input: MetricsInput): Promise<boolean> {
  const { workerId, ts, metrics, keepSince, keepUntil, keepMax } = input;
  const known = await tx.sql.first("SELECT 1 FROM workers WHERE id = $1 FOR KEY SHARE", workerId);
  if (known === null) return false;
  tx.send(
    "DELETE FROM worker_metrics WHERE worker_id = $1 AND (ts < $2 OR ts > $3)",
    workerId,
    keepSince,
    keepUntil,
  );
  tx.send(
    `INSERT INTO worker_metrics (worker_id, ts, metrics) VALUES ($1, $2, $3)
      ON CONFLICT (worker_id, ts) DO UPDATE SET metrics = excluded.metrics`,
    workerId,
    ts,
    metrics,
  );
  tx.send(
    `DELETE FROM worker_metrics WHERE worker_id = $1 AND ts <=
      (SELECT ts FROM worker_metrics WHERE worker_id = $1 ORDER BY ts DESC LIMIT 1 OFFSET $2)`,
    workerId,
    keepMax,
  );
  return true;
}

export async function listWorkerMetrics(
  sql: Connection,
  { workerId, newest }: Parameters<WorkerStore["listWorkerMetrics"]>[0],
): Promise<{ ts: number; metrics: string }[]> {
  const rows = await sql.all<{ ts: number; metrics: string }>(
    "SELECT ts, metrics FROM worker_metrics WHERE worker_id = $1 ORDER BY ts DESC LIMIT $2",
    workerId,
    // LIMIT NULL is none.
    newest ?? null,
  );
  return rows.reverse();
}
