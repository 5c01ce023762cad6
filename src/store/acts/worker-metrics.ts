// What workers measure. Why: ADR 0111.
import type { WorkerStore } from "../worker-store.ts";
import { type Act, all, exists } from "./act.ts";
import { Columns, number, text } from "./columns.ts";
import type { ReadDriver, WriteDriver } from "./driver.ts";

type MetricsInput = Parameters<WorkerStore["saveWorkerMetrics"]>[0];

export function* saveWorkerMetrics(driver: WriteDriver, input: MetricsInput): Act<boolean> {
  const { workerId, ts, metrics, keepSince, keepUntil, keepMax } = input;
  if (!(yield* exists("SELECT 1 FROM workers WHERE id = ? FOR KEY SHARE", workerId))) return false;
  driver.send(
    "DELETE FROM worker_metrics WHERE worker_id = ? AND (ts < ? OR ts > ?)",
    workerId,
    keepSince,
    keepUntil,
  );
  driver.send(
    `INSERT INTO worker_metrics (worker_id, ts, metrics) VALUES (?, ?, ?)
      ON CONFLICT (worker_id, ts) DO UPDATE SET metrics = excluded.metrics`,
    workerId,
    ts,
    metrics,
  );
  driver.send(
    `DELETE FROM worker_metrics WHERE worker_id = ?1 AND ts <=
      (SELECT ts FROM worker_metrics WHERE worker_id = ?1 ORDER BY ts DESC LIMIT 1 OFFSET ?2)`,
    workerId,
    keepMax,
  );
  return true;
}

const samples = new Columns({ ts: number("ts"), metrics: text("metrics") });

/** No worker has more samples than this. */
const allSamples = 2 ** 31;

export function* listWorkerMetrics(
  _: ReadDriver,
  { workerId, newest = allSamples }: Parameters<WorkerStore["listWorkerMetrics"]>[0],
): Act<{ ts: number; metrics: string }[]> {
  const newestFirst = yield* all(
    samples,
    `SELECT ${samples.list} FROM worker_metrics WHERE worker_id = ? ORDER BY ts DESC LIMIT ?`,
    workerId,
    newest,
  );
  return newestFirst.reverse();
}
