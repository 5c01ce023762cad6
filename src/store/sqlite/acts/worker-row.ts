import type { WorkerRecord } from "../../worker-store.ts";
import { readWorkerRow, type WorkerRow } from "../../workers/worker-row.ts";
import type { Context } from "../context.ts";
import type { ReadContext } from "../reads/read-context.ts";

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
  const jobCounts = { completed: row.completed + completed, failed: row.failed + failed };
  return readWorkerRow(row, { currentJobs: active, jobCounts });
}
