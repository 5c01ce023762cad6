// What few jobs have, in tables of their own. They are written with the frame of the group, so that no replay has to make them again.
// Why: ADR 0139, ADR 0140.
import type { JobRecord, NewJob } from "../../../core/jobs/job.ts";
import { termsOf } from "../../../core/jobs/terms.ts";
import { keptUntil } from "../../../core/kept-until.ts";
import { givesKeyBack, uniqueOf } from "../../../core/unique/unique.ts";
import type { Context } from "../context.ts";
import type { JobEntry } from "./job-entry.ts";

type Target = Pick<Context, "sql">;

/** What comes with the job. */
export function keepBeside({ sql }: Target, job: NewJob, seq: number): void {
  const { tenantId } = job;
  if (job.isKeyChosen) sql.run("INSERT INTO job_keys VALUES (?, ?, ?)", tenantId, job.idempotencyKey, seq);
  if (job.summary !== null) sql.run("INSERT INTO document_summaries VALUES (?, ?)", seq, job.summary);
  for (const { folder_id, object_key, sha256 } of job.inputs ?? [])
    sql.run(
      "INSERT INTO job_inputs VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
      seq,
      tenantId,
      folder_id,
      object_key,
      sha256,
    );
  if (job.terms === null) return;
  const unique = uniqueOf(job);
  if (unique !== null)
    sql.run("INSERT OR REPLACE INTO unique_keys VALUES (?, ?, ?)", tenantId, unique.key, seq);
  for (const label of termsOf(job).labels ?? [])
    sql.run("INSERT INTO job_labels VALUES (?, ?, ?) ON CONFLICT DO NOTHING", tenantId, label, seq);
}

/** What changes with a job that has terms. */
export function changeBeside({ sql }: Target, before: JobRecord, after: JobRecord): void {
  if (givesKeyBack(before, after)) removeKey({ sql }, after);
  const until = keptUntil(after);
  if (until === keptUntil(before)) return;
  if (until === null) sql.run("DELETE FROM kept_jobs WHERE seq = ?", after.seq);
  else sql.run("INSERT OR REPLACE INTO kept_jobs VALUES (?, ?)", after.seq, until);
}

/** The job is deleted. */
export function removeBeside({ sql }: Target, { record, isGenuine }: JobEntry): void {
  for (const table of ["job_keys", "job_inputs", "document_summaries"] as const)
    sql.run(`DELETE FROM ${table} WHERE job_seq = ?`, record.seq);
  // The terms of a damaged job cannot be read.
  if (record.terms === null && isGenuine) return;
  removeKey({ sql }, record);
  for (const table of ["job_labels", "kept_jobs"] as const)
    sql.run(`DELETE FROM ${table} WHERE seq = ?`, record.seq);
}

/** Another job may have taken it since. */
function removeKey({ sql }: Target, { tenantId, seq, terms }: JobRecord): void {
  const unique = uniqueOf({ terms });
  if (unique === null) return;
  sql.run("DELETE FROM unique_keys WHERE tenant_id = ? AND key = ? AND seq = ?", tenantId, unique.key, seq);
}
