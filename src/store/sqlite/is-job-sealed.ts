import { isSealed } from "../job-seal.ts";
import type { Context } from "./context.ts";
import { jobColumns, jobWidth, type Row, readJob } from "./job-row.ts";

const text = `SELECT ${jobColumns}, document, mac
  FROM jobs JOIN documents ON documents.job_seq = jobs.seq WHERE jobs.id = ?`;

/** Whether the stored job still matches its seal. False if it, or any part of it, is gone. */
export function isJobSealed(context: Context, { jobId }: { jobId: string }): boolean {
  const row = context.sql.rowStatement(text).get(jobId) as Row | undefined;
  if (row === undefined) return false;
  const job = readJob(context, row);
  return isSealed(context.macKey, job, row[jobWidth] as string, row[jobWidth + 1] as Uint8Array);
}
