import { WritError } from "../core/errors.ts";
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

/** The key of a job's MACs, for another program that checks its events. Throws NOT_FOUND if the job has none. */
export async function macKey(place: RegistryPlace, jobId: string): Promise<string> {
  const { auth_token: key } = await getRow(place, jobId);
  if (key !== null) return key;
  throw new WritError("NOT_FOUND", `job ${jobId} has no MAC key`, {
    advice: "`jobctl registry register --auth` gives a job one",
  });
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
