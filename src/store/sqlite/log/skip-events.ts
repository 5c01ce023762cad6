import type { Context } from "../context.ts";

/** Leaves out numbers of the log that were given before, by a database that is lost. Why: ADR 0030. */
export function skipEvents(
  context: Context,
  { throughSeq, hash }: { throughSeq: number; hash: string },
): void {
  const { sql, tallies } = context;
  const missing = throughSeq - tallies.get("event_seq");
  if (missing <= 0) return;
  tallies.add("event_seq", missing);
  // The next record follows this seal, as after events that were pruned.
  sql.run("INSERT INTO audit_seals (seq, severity, hash) VALUES (?, 'LOW', ?)", throughSeq, hash);
  context.chain.forget();
}
