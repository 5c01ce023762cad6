import { countMove } from "../../../core/jobs/effects.ts";
import { jobRemoved } from "../../log/act-events.ts";
import { keepReceipt } from "../log/kept-receipts.ts";
import { removeOldLanesText } from "../transaction/lane.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { readKept, recordColumns, recordFrom } from "./job-row.ts";

type PruneInput = { endedBefore: number; quarantinedBefore: number; limit: number; nowMs: number };
type PrunedRow = Record<string, unknown> & {
  document: string | null;
  mac: Buffer | null;
  bytes: number | null;
};

/** Jobs are numbered as they come, and nearly all of them end in that order, so the oldest have the lowest numbers. */
const prunableText = `SELECT ${recordColumns}, j.document, j.mac, o.bytes
  FROM ${recordFrom("ended")} LEFT JOIN job_outputs o ON o.seq = j.seq`;
/** A job that says how long it is kept is deleted then, whatever the hub does with others. */
const isNotKept = "NOT EXISTS (SELECT 1 FROM kept_jobs k WHERE k.seq = s.seq)";
const endedText = `${prunableText} WHERE s.completed_at < $1 AND s.status IN ('completed', 'failed') AND ${isNotKept}
  ORDER BY s.seq LIMIT $2 FOR UPDATE OF s`;
const quarantinedText = `${prunableText} WHERE s.completed_at < $1 AND s.status = 'quarantined' AND ${isNotKept}
  ORDER BY s.seq LIMIT $2 FOR UPDATE OF s`;

const keptText = `${prunableText} JOIN kept_jobs k ON k.seq = s.seq WHERE k.until <= $1
  ORDER BY k.until LIMIT $2 FOR UPDATE OF s`;

/** Deletes finished jobs, oldest first; their events and receipts stay until their own time. Why: ADR 0083. */
export async function pruneJobs(tx: Transaction, input: PruneInput): Promise<string[]> {
  const ended = await tx.sql.all<PrunedRow>(endedText, input.endedBefore, input.limit);
  const quarantined = await tx.sql.all<PrunedRow>(
    quarantinedText,
    input.quarantinedBefore,
    input.limit - ended.length,
  );
  const left = input.limit - ended.length - quarantined.length;
  const kept = await tx.sql.all<PrunedRow>(keptText, input.nowMs, left);
  const rows = [...ended, ...quarantined, ...kept];
  tx.work.isForgetting = rows.length > 0;
  for (const row of rows) forget(tx, row, input.nowMs);
  const seqs = rows.map((row) => row["seq"] as number);
  tx.send("DELETE FROM unique_keys WHERE seq = ANY ($1)", seqs);
  for (const table of ["ended", "jobs", "job_outputs", "job_labels", "kept_jobs"])
    tx.send(`DELETE FROM ${table} WHERE seq = ANY ($1)`, seqs);
  for (const table of ["small_outputs", "job_inputs"])
    tx.send(`DELETE FROM ${table} WHERE job_seq = ANY ($1)`, seqs);
  const ids = rows.map((row) => row["id"] as string);
  // What jobs have stored goes with them.
  tx.send("UPDATE objects SET expires_at = 0 WHERE job_id = ANY ($1)", ids);
  removeOldQueues(tx);
  tx.send(removeOldLanesText);
  return ids;
}

function forget(tx: Transaction, row: PrunedRow, nowMs: number): void {
  const { job, queueId } = readKept(Object.values(row), "ended");
  if (row.document !== null && row.mac !== null && job.receipt !== null)
    keepReceipt(tx, job, { document: row.document, mac: row.mac });
  tx.log(jobRemoved(job, nowMs));
  tx.work.notice.job(job.id);
  tx.work.countJob(job, job.status, -1);
  tx.work.countQueue(queueId, countMove(job.status, null));
  tx.work.outputBytes -= row.bytes ?? 0;
}

/** By then every hub that is alive has seen that they are empty. */
const versionsKept = 100_000;

function removeOldQueues(tx: Transaction): void {
  tx.send(
    "DELETE FROM queues WHERE jobs = 0 AND changed > 0 AND changed < (SELECT version FROM log_state) - $1::bigint",
    versionsKept,
  );
}
