import type { JobRecord } from "../../../core/jobs/job.ts";
import type { SmallOutput } from "../../../core/jobs/small-output.ts";
import type { Context } from "../context.ts";
import { noteOutput } from "./note-output.ts";

/** Keeps what an attempt has written, in the transaction that ends it. Why: ADR 0057. */
export function keepSmallOutput(context: Context, job: JobRecord, output: SmallOutput): void {
  const { id: jobId, attempt } = job;
  const sizes = { stdout: output.stdout.length, stderr: output.stderr.length };
  if (!noteOutput(context, { jobId, attempt, ...sizes })) return;
  context.sql.run(
    "INSERT OR REPLACE INTO small_outputs (job_seq, attempt, stdout, stderr) VALUES (?, ?, ?, ?)",
    job.seq,
    attempt,
    output.stdout,
    output.stderr,
  );
}

export function getSmallOutput(
  context: Context,
  { jobId, attempt }: { jobId: string; attempt: number },
): SmallOutput | null {
  return context.sql.first<SmallOutput>(
    `SELECT stdout, stderr FROM small_outputs
      WHERE job_seq = (SELECT seq FROM jobs WHERE id = ?) AND attempt = ?`,
    jobId,
    attempt,
  );
}

/** Those of all attempts of a job. */
export function removeSmallOutputs(context: Context, jobSeq: number): void {
  context.sql.run("DELETE FROM small_outputs WHERE job_seq = ?", jobSeq);
}
