import type { WorkerStore } from "../../worker-store.ts";
import type { Context } from "../context.ts";
import type { ReadContext } from "../reads/read-context.ts";

type MetricsInput = Parameters<WorkerStore["saveWorkerMetrics"]>[0];

export function saveWorkerMetrics(context: Context, input: MetricsInput): boolean {
  const { workerId, ts, metrics, keepSince, keepUntil, keepMax } = input;
  if (context.sql.first("SELECT 1 FROM workers WHERE id = ?", workerId) === null) return false;
  context.sql.run("DELETE FROM worker_metrics WHERE worker_id = ? AND ts < ?", workerId, keepSince);
  context.sql.run("DELETE FROM worker_metrics WHERE worker_id = ? AND ts > ?", workerId, keepUntil);
  context.sql.run(
    `INSERT INTO worker_metrics (worker_id, ts, metrics) VALUES (?, ?, ?)
      ON CONFLICT (worker_id, ts) DO UPDATE SET metrics = excluded.metrics`,
    workerId,
    ts,
    metrics,
  );
  context.sql.run(
    `DELETE FROM worker_metrics WHERE worker_id = ?1 AND ts <=
      (SELECT ts FROM worker_metrics WHERE worker_id = ?1 ORDER BY ts DESC LIMIT 1 OFFSET ?2)`,
    workerId,
    keepMax,
  );
  return true;
}

export function listWorkerMetrics(
  context: ReadContext,
  { workerId, newest = -1 }: Parameters<WorkerStore["listWorkerMetrics"]>[0],
): { ts: number; metrics: string }[] {
  return context.sql
    .all<{ ts: number; metrics: string }>(
      "SELECT ts, metrics FROM worker_metrics WHERE worker_id = ? ORDER BY ts DESC LIMIT ?",
      workerId,
      // A negative limit is none.
      newest,
    )
    .map(({ ts, metrics }) => ({ ts, metrics }))
    .reverse();
}
