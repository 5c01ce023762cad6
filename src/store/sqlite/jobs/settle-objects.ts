import type { Change } from "../../../core/jobs/change.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import type { OutputFile } from "../../../core/jobs/output-file.ts";
import type { Context } from "../context.ts";

/**
 * At the end of an attempt the files that it lists become the job's. Whatever else its attempts have stored ends there.
 * Nothing is asked for jobs that have no files. Why: ADR 0041.
 */
export function settleObjects(
  context: Pick<Context, "sql">,
  before: JobRecord,
  after: JobRecord,
  change: Change,
): void {
  if (change.act !== "result" && change.act !== "fail") return;
  if (before.outputFiles === null && after.outputFiles === null) return;
  const files = JSON.parse(after.outputFiles ?? "[]") as OutputFile[];
  const { sql } = context;
  sql.run("UPDATE objects SET expires_at = 0 WHERE job_id = ?", after.id);
  for (const { folder_id, object_key, sha256 } of files) {
    sql.run(
      `UPDATE objects SET state = 'kept', expires_at = NULL WHERE job_id = ? AND attempt = ? AND folder_id = ?
          AND object_key = ? AND sha256 = ? AND state = 'arrived'`,
      after.id,
      before.attempt,
      folder_id,
      object_key,
      sha256,
    );
  }
}
