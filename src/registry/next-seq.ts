import { systemClock } from "../runtime/clock/clock.ts";
import type { Connection } from "../store/sqlite/database/connection.ts";
import { findRow, refuseUnknown } from "./job-row.ts";
import { changeRegistry } from "./registry-database.ts";
import type { RegistryPlace } from "./registry-place.ts";

/** Takes the next number of a job's messages: 1, 2, 3, without a gap and never twice. Throws NOT_FOUND. */
export function nextSeq(place: RegistryPlace, jobId: string): Promise<number> {
  const nowMs = (place.clock ?? systemClock).nowMs();
  return changeRegistry(
    place,
    () => refuseUnknown(jobId),
    (sql) => takeSeq(sql, { jobId, nowMs }),
  );
}

/** The same inside a transaction. An event counts as activity of the job. */
export function takeSeq(sql: Connection, { jobId, nowMs }: { jobId: string; nowMs: number }): number {
  const { last_seq: lastSeq } = findRow(sql, jobId);
  sql.run("UPDATE jobs SET last_seq = ?, active_at = ? WHERE job_id = ?", lastSeq + 1, nowMs, jobId);
  return lastSeq + 1;
}
