import type { RegistryJob } from "./job-record.ts";
import { findRow, type JobRow, recordOf, refuseUnknown } from "./job-row.ts";
import { readRegistry } from "./registry-database.ts";
import type { RegistryPlace } from "./registry-place.ts";

/** One job. Throws NOT_FOUND. */
export async function get(place: RegistryPlace, jobId: string): Promise<RegistryJob> {
  return recordOf(await getRow(place, jobId));
}

/** The same with what only this room may know. */
export async function getRow(place: RegistryPlace, jobId: string): Promise<JobRow> {
  return readRegistry(
    place,
    () => refuseUnknown(jobId),
    (sql): JobRow => findRow(sql, jobId),
  );
}

/** All jobs, oldest first. */
export async function list(place: RegistryPlace): Promise<RegistryJob[]> {
  const rows = await readRegistry(
    place,
    () => [],
    (sql) => sql.all<JobRow>("SELECT * FROM jobs ORDER BY number"),
  );
  return rows.map(recordOf);
}
