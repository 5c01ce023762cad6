import type { Change } from "../../../core/jobs/change.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import type { OutputFile } from "../../../core/jobs/output-file.ts";
import { toJson } from "../connection/connection.ts";
import type { Transaction } from "../transaction/transaction.ts";

/**
 * At the end of an attempt the files that it lists become the job's. Whatever else its attempts have stored ends there.
 * Nothing is asked for jobs that have no files. Why: ADR 0041.
 */
export function settleObjects(tx: Transaction, before: JobRecord, after: JobRecord, change: Change): void {
  if (change.act !== "result" && change.act !== "fail") return;
  if (before.outputFiles === null && after.outputFiles === null) return;
  const files = JSON.parse(after.outputFiles ?? "[]") as OutputFile[];
  tx.send("UPDATE objects SET expires_at = 0 WHERE job_id = $1", after.id);
  if (files.length === 0) return;
  tx.send(
    `UPDATE objects o SET state = 'kept', expires_at = NULL
      FROM json_to_recordset($3) AS f (folder_id text, object_key text, sha256 text)
      WHERE o.job_id = $1 AND o.attempt = $2 AND o.state = 'arrived'
        AND o.folder_id = f.folder_id AND o.object_key = f.object_key AND o.sha256 = f.sha256`,
    after.id,
    before.attempt,
    toJson(files),
  );
}
