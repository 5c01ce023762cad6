import { type AttemptOutput, noted } from "../../output-store.ts";
import type { Context } from "../context.ts";

export type OutputRow = {
  seq: number;
  output_sizes: string | null;
  output_bytes: number;
  output_dropped_through: number;
};

export const outputRow = "SELECT seq, output_sizes, output_bytes, output_dropped_through FROM jobs";

/**
 * Records how much an attempt has written so far; false if its job is deleted or its output was removed. These columns are
 * not part of a record, so a cached record can neither be wrong about them nor overwrite them. Why: ADR 0023.
 */
export function noteOutput(context: Context, output: AttemptOutput): boolean {
  const row = context.sql.first<OutputRow>(`${outputRow} WHERE id = ?`, output.jobId);
  if (row === null || output.attempt <= row.output_dropped_through) return false;
  const { sizes, difference } = noted(JSON.parse(row.output_sizes ?? "{}"), output);
  context.sql.run(
    "UPDATE jobs SET output_sizes = ?, output_bytes = ? WHERE seq = ?",
    JSON.stringify(sizes),
    row.output_bytes + difference,
    row.seq,
  );
  context.tallies.add("output_bytes", difference);
  return true;
}
