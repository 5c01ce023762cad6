import type { WorkerRecord } from "../../worker-store.ts";
import { readWorkerRow, type WorkerRow } from "../../workers/worker-row.ts";
import type { Connection } from "../connection/connection.ts";

type CountedRow = WorkerRow & { held: number };

const workerText = `SELECT w.*, coalesce(c.completed, 0) AS completed, coalesce(c.failed, 0) AS failed,
    (SELECT count(*) FROM active WHERE active.worker_id = w.id) AS held
  FROM workers w LEFT JOIN worker_counts c ON c.worker_id = w.id`;

export async function getWorker(
  sql: Connection,
  { workerId }: { workerId: string },
): Promise<WorkerRecord | null> {
  const row = await sql.first<CountedRow>(`${workerText} WHERE w.id = $1`, workerId);
  return row && readWorker(row);
}

/** The same for an act that changes the worker. */
export async function lockWorker(sql: Connection, workerId: string): Promise<WorkerRecord | null> {
  const row = await sql.first<CountedRow>(`${workerText} WHERE w.id = $1 FOR UPDATE OF w`, workerId);
  return row && readWorker(row);
}

/** The same for acts that change several, by their ids. Everybody locks workers in this order. */
export async function lockWorkers(sql: Connection, workerIds: string[]): Promise<Map<string, WorkerRecord>> {
  const text = `${workerText} WHERE w.id = ANY ($1) ORDER BY w.id FOR UPDATE OF w`;
  const rows = await sql.all<CountedRow>(text, workerIds);
  return new Map(rows.map((row) => [row.id, readWorker(row)]));
}

/**
 * The same for acts that change all of them. Everybody locks workers first, then jobs by their numbers, and the log last: a
 * heartbeat that holds its worker and waits for a job must not meet somebody who has the job and waits for the worker.
 */
export async function lockAllWorkers(sql: Connection): Promise<void> {
  await sql.run("SELECT 1 FROM workers ORDER BY id FOR UPDATE");
}

export async function listWorkers(sql: Connection): Promise<WorkerRecord[]> {
  return (await sql.all<CountedRow>(`${workerText} ORDER BY w.id`)).map(readWorker);
}

function readWorker(row: CountedRow): WorkerRecord {
  const { held, completed, failed } = row;
  return readWorkerRow(row, { currentJobs: held, jobCounts: { completed, failed } });
}
