import { WritError } from "../core/errors.ts";
import type { Connection } from "../store/sqlite/database/connection.ts";
import { type StatusChange, writeStatusChanges } from "./history.ts";
import { inTurn } from "./in-turn.ts";
import { isFinal, isRegistryStatus, type RegistryJob, registryStatuses } from "./job-record.ts";
import { findRow, type JobRow, recordOf, refuseUnknown } from "./job-row.ts";
import { changeRegistry } from "./registry-database.ts";
import type { RegistryPlace } from "./registry-place.ts";

/** Sets a job's status. Throws NOT_FOUND, or STATE_CONFLICT for a job that has ended; its own status is no change. */
export async function setStatus(place: RegistryPlace, jobId: string, status: string): Promise<RegistryJob> {
  return inTurn(place, async (nowMs) => {
    const { row, changes } = await changeRegistry(
      place,
      () => refuseUnknown(jobId),
      (sql) => moveTo(sql, { jobId, status, nowMs }),
    );
    await writeStatusChanges(place, changes);
    return recordOf(row);
  });
}

type Move = { jobId: string; status: string; nowMs: number };

/** The same inside a transaction. Also counts as activity of the job. */
export function moveTo(sql: Connection, move: Move): { row: JobRow; changes: StatusChange[] } {
  const { jobId, status: to, nowMs } = move;
  const { status: from } = findRow(sql, jobId);
  if (!isRegistryStatus(to)) {
    const allowed = registryStatuses.join(", ");
    throw refused(`${JSON.stringify(to.slice(0, 100))} is not a status; use one of ${allowed}`);
  }
  if (from === to) return { row: findRow(sql, jobId), changes: [] };
  if (isFinal(from)) throw refused(`job ${jobId} has ended with status ${from}; it cannot become ${to}`);
  sql.run(
    `UPDATE jobs SET status = ?1, updated_at = ?2, active_at = ?2,
        picked_at = CASE WHEN ?1 = 'running' THEN ?2 WHEN ?1 = 'pending' THEN NULL ELSE picked_at END
      WHERE job_id = ?3`,
    to,
    nowMs,
    jobId,
  );
  return { row: findRow(sql, jobId), changes: [{ jobId, from, to, atMs: nowMs }] };
}

function refused(message: string): WritError {
  return new WritError("STATE_CONFLICT", message, { advice: "`jobctl registry get --job ID` shows the job" });
}
