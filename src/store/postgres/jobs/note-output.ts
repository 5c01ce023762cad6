import { type AttemptOutput, noted } from "../../output-store.ts";
import type { Connection } from "../connection/connection.ts";
import type { Transaction } from "../transaction/transaction.ts";

export type OutputRow = { seq: number; sizes: string | null; bytes: number; droppedThrough: number };

/** By the numbers of their jobs. */
export type LockedOutputs = Map<number, OutputRow>;

/** Reads what is noted of these jobs' outputs, and keeps others from changing it until the transaction ends. */
export async function lockOutputs(sql: Connection, seqs: number[]): Promise<LockedOutputs> {
  if (seqs.length === 0) return new Map();
  const [, rows] = await Promise.all(
    sql.together(() => [
      sql.run(
        "INSERT INTO job_outputs (seq) SELECT DISTINCT seq FROM unnest($1::bigint[]) AS seq ORDER BY seq ON CONFLICT DO NOTHING",
        seqs,
      ),
      sql.all<OutputRow>(
        `SELECT seq, sizes, bytes, dropped_through AS "droppedThrough" FROM job_outputs
          WHERE seq = ANY ($1) ORDER BY seq FOR UPDATE`,
        seqs,
      ),
    ]) as [Promise<number>, Promise<OutputRow[]>],
  );
  return new Map(rows.map((row) => [row.seq, row]));
}

/** Records how much an attempt has written so far; false if its output was removed. Why: ADR 0087. */
export function noteOutput(
  tx: Transaction,
  row: OutputRow | undefined,
  output: Omit<AttemptOutput, "jobId">,
): boolean {
  if (row === undefined || output.attempt <= row.droppedThrough) return false;
  const { sizes, difference } = noted(JSON.parse(row.sizes ?? "{}"), { jobId: "", ...output });
  row.sizes = JSON.stringify(sizes);
  row.bytes += difference;
  tx.send("UPDATE job_outputs SET sizes = $2, bytes = $3 WHERE seq = $1", row.seq, row.sizes, row.bytes);
  tx.work.outputBytes += difference;
  return true;
}
