import { Columns, number, type SqlRow } from "../../acts/columns.ts";
import type { WorkerTable } from "../../acts/driver.ts";
import { workerColumns } from "../../acts/worker-rows.ts";
import type { WorkerRecord } from "../../worker-store.ts";
import type { Connection } from "../connection/connection.ts";

const counted = new Columns({
  ...workerColumns,
  completed: number("coalesce(c.completed, 0)"),
  failed: number("coalesce(c.failed, 0)"),
  held: number("(SELECT count(*) FROM active WHERE active.worker_id = w.id)"),
});

export const workers: WorkerTable = {
  select: `SELECT ${counted.list} FROM workers w LEFT JOIN worker_counts c ON c.worker_id = w.id`,
  counts: [],
  read(row) {
    const { completed, failed, held, ...worker } = counted.read(row);
    return { ...worker, currentJobs: held, jobCounts: { completed, failed } };
  },
};

/** Reads workers for acts that change several, by their ids. Every act locks workers in this order. Why: ADR 0080. */
export async function lockWorkers(sql: Connection, workerIds: string[]): Promise<Map<string, WorkerRecord>> {
  const text = `${workers.select} WHERE w.id = ANY ($1) ORDER BY w.id FOR UPDATE OF w`;
  const rows = await sql.all<SqlRow>(text, workerIds);
  return new Map(rows.map(workers.read).map((worker) => [worker.id, worker]));
}

/**
 * For acts that change all of them. Every act locks workers first, then jobs by their numbers, and the log last: a
 * heartbeat that holds its worker and waits for a job must not meet an act that has the job and waits for the worker.
 */
export const lockAllWorkersText = "SELECT 1 FROM workers ORDER BY id FOR UPDATE";
