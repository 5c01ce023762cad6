import { jobEvent } from "../../../core/events.ts";
import { type AttemptOutput, type DroppedOutput, keptAttempts } from "../../output-store.ts";
import type { Connection } from "../connection/connection.ts";
import { lockOutputs, noteOutput, type OutputRow } from "../jobs/note-output.ts";
import type { Answer } from "../transaction/answers.ts";
import { lockJobs } from "../transaction/lock-jobs.ts";
import type { Transaction } from "../transaction/transaction.ts";
import type { KeptJob } from "../transaction/work.ts";

/** Records how much attempts have written so far. Why: ADR 0087. */
export async function noteOutputs(
  tx: Transaction,
  inputs: { outputs: AttemptOutput[] }[],
): Promise<Answer[]> {
  const outputs = inputs.flatMap((input) => input.outputs);
  const rows = await tx.begin(() =>
    tx.sql.all<{ id: string; seq: number }>(
      "SELECT id, seq FROM jobs WHERE id = ANY ($1)",
      outputs.map(({ jobId }) => jobId),
    ),
  );
  const seqOf = new Map(rows.map(({ id, seq }) => [id, seq]));
  const locked = await lockOutputs(tx.sql, [...seqOf.values()]);
  for (const output of outputs) {
    const seq = seqOf.get(output.jobId);
    if (seq !== undefined) noteOutput(tx, locked.get(seq), output);
  }
  const kept = { keptBytes: await keptBytes(tx) };
  return inputs.map(() => ({ value: kept }));
}

/** As far as it is committed, and what this transaction adds. */
async function keptBytes({ sql, work }: Transaction): Promise<number> {
  const row = await sql.first<{ bytes: number }>("SELECT output_bytes AS bytes FROM log_state");
  return row!.bytes + work.outputBytes;
}

export async function getOutputNotes(
  sql: Connection,
  { jobIds, tenantId }: { jobIds: string[]; tenantId?: string },
): Promise<{ jobId: string; isNoted: boolean; droppedThrough: number }[]> {
  return sql.all(
    `SELECT j.id AS "jobId", o.sizes IS NOT NULL AS "isNoted", coalesce(o.dropped_through, 0) AS "droppedThrough"
      FROM jobs j LEFT JOIN job_outputs o USING (seq)
      WHERE j.id = ANY ($1) AND ($2::text IS NULL OR j.tenant_id = $2)`,
    jobIds,
    tenantId ?? null,
  );
}

/**
 * Gives up the output of finished jobs, beginning with the one that ended first, until at most this many bytes are
 * kept.
 */
export async function dropOutputs(
  tx: Transaction,
  { downToBytes, limit, nowMs }: { downToBytes: number; limit: number; nowMs: number },
): Promise<{ dropped: DroppedOutput[]; keptBytes: number }> {
  const found = await tx.sql.all<{ id: string }>(
    `SELECT j.id FROM job_outputs o JOIN ended s USING (seq) JOIN jobs j USING (seq)
      WHERE o.bytes > 0 ORDER BY s.completed_at, s.seq LIMIT $1`,
    limit,
  );
  const ids = found.map(({ id }) => id);
  const jobs = await lockJobs(tx, ids);
  const rows = await lockOutputs(
    tx.sql,
    [...jobs.values()].map(({ job }) => job.seq),
  );
  const before = await keptBytes(tx);
  const dropped: DroppedOutput[] = [];
  for (const id of ids) {
    const kept = jobs.get(id);
    if (before + tx.work.outputBytes <= downToBytes) break;
    if (kept?.place === "ended") dropped.push(dropOutput(tx, kept, rows.get(kept.job.seq)!, nowMs));
  }
  return { dropped, keptBytes: before + tx.work.outputBytes };
}

function dropOutput(tx: Transaction, kept: KeptJob, row: OutputRow, nowMs: number): DroppedOutput {
  const { job } = kept;
  const { bytes } = row;
  const attempts = keptAttempts(JSON.parse(row.sizes ?? "{}"), row.droppedThrough);
  tx.send("UPDATE job_outputs SET bytes = 0, dropped_through = $2 WHERE seq = $1", job.seq, job.attempt);
  tx.send("DELETE FROM small_outputs WHERE job_seq = $1", job.seq);
  const jobSeq = job.eventCount + 1;
  tx.work.put(kept, { ...kept, job: { ...job, eventCount: jobSeq } });
  tx.work.outputBytes -= bytes;
  const removed = { event: "OUTPUT_REMOVED", details: { bytes, attempts } } as const;
  tx.log(jobEvent(job, removed, { ts: nowMs, jobSeq, origin: null }));
  tx.work.notice.job(job.id);
  return { jobId: job.id, attempts, bytes };
}
