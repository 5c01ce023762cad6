import type { JobRecord } from "../../../core/jobs/job.ts";
import type { SmallOutput } from "../../../core/jobs/small-output.ts";
import type { Connection } from "../connection/connection.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { type LockedOutputs, noteOutput } from "./note-output.ts";

/** Keeps what an attempt has written, in the transaction that ends it. Why: ADR 0057. */
export function keepSmallOutput(
  tx: Transaction,
  outputs: LockedOutputs,
  { job, output }: { job: JobRecord; output: SmallOutput },
): void {
  const { stdout, stderr } = output;
  const sizes = { attempt: job.attempt, stdout: stdout.length, stderr: stderr.length };
  if (!noteOutput(tx, outputs.get(job.seq), sizes)) return;
  tx.send(
    `INSERT INTO small_outputs (job_seq, attempt, stdout, stderr) VALUES ($1, $2, $3, $4)
      ON CONFLICT (job_seq, attempt) DO UPDATE SET stdout = excluded.stdout, stderr = excluded.stderr`,
    job.seq,
    job.attempt,
    stdout,
    stderr,
  );
}

export function getSmallOutput(
  sql: Connection,
  { jobId, attempt }: { jobId: string; attempt: number },
): Promise<SmallOutput | null> {
  return sql.first<SmallOutput>(
    `SELECT stdout, stderr FROM small_outputs
      WHERE job_seq = (SELECT seq FROM jobs WHERE id = $1) AND attempt = $2`,
    jobId,
    attempt,
  );
}
