import { jobEvent } from "../../../core/events.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import type { SmallOutput } from "../../../core/jobs/small-output.ts";
import {
  type AttemptOutput,
  type DroppedOutput,
  type DroppedSizes,
  keptAttempts,
  noted,
} from "../../output-store.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../database/connection.ts";
import { writeRowsNow } from "../jobs/flush-rows.ts";
import type { JobEntry } from "../jobs/job-entry.ts";
import { findById, selectEntries } from "../jobs/load-entry.ts";
import { appendEvent } from "../log/append-event.ts";
import { addEventFrame } from "../log/event-frames.ts";

type OutputRow = { output_sizes: string | null; output_bytes: number; output_dropped_through: number };
const none: OutputRow = { output_sizes: null, output_bytes: 0, output_dropped_through: 0 };

/** What is noted of a job's outputs is beside its row, so that it can be written before that. */
function outputRow(sql: Connection, seq: number): OutputRow {
  return (
    sql.first<OutputRow>(
      "SELECT output_sizes, output_bytes, output_dropped_through FROM job_outputs WHERE job_seq = ?",
      seq,
    ) ?? none
  );
}

export function droppedSizes(sql: Connection, seq: number): DroppedSizes {
  const { output_sizes, output_dropped_through } = outputRow(sql, seq);
  return { throughAttempt: output_dropped_through, sizes: JSON.parse(output_sizes ?? "{}") };
}

/** Records how much attempts have written so far. Why: ADR 0023. */
export function noteOutputs(
  context: Context,
  { outputs }: { outputs: AttemptOutput[] },
): { keptBytes: number } {
  for (const output of outputs) {
    const entry = findById(context, output.jobId);
    if (entry !== null) noteOutput(context, entry.record.seq, output);
  }
  // Its sum is written with the rows.
  context.mustFlush = true;
  return { keptBytes: context.tallies.get("output_bytes") };
}

/** False if its output was removed. */
function noteOutput({ sql, tallies }: Context, seq: number, output: AttemptOutput): boolean {
  const row = outputRow(sql, seq);
  if (output.attempt <= row.output_dropped_through) return false;
  const { sizes, difference } = noted(JSON.parse(row.output_sizes ?? "{}"), output);
  sql.run(
    `INSERT INTO job_outputs (job_seq, output_sizes, output_bytes) VALUES (?1, ?2, ?3)
      ON CONFLICT (job_seq) DO UPDATE SET output_sizes = ?2, output_bytes = ?3`,
    seq,
    JSON.stringify(sizes),
    row.output_bytes + difference,
  );
  tallies.add("output_bytes", difference);
  return true;
}

/** Keeps what an attempt has written, in the transaction that ends it. Why: ADR 0057. */
export function keepSmallOutput(context: Context, job: JobRecord, output: SmallOutput): void {
  const { id: jobId, attempt, seq } = job;
  const sizes = { stdout: output.stdout.length, stderr: output.stderr.length };
  if (!noteOutput(context, seq, { jobId, attempt, ...sizes })) return;
  context.mustFlush = true;
  context.sql.run(
    "INSERT OR REPLACE INTO small_outputs (job_seq, attempt, stdout, stderr) VALUES (?, ?, ?, ?)",
    seq,
    attempt,
    output.stdout,
    output.stderr,
  );
}

export function getSmallOutput(
  context: Context,
  { jobId, attempt }: { jobId: string; attempt: number },
): SmallOutput | null {
  const entry = findById(context, jobId);
  if (entry === null) return null;
  return context.sql.first<SmallOutput>(
    "SELECT stdout, stderr FROM small_outputs WHERE job_seq = ? AND attempt = ?",
    entry.record.seq,
    attempt,
  );
}

export function getOutputNotes(
  context: Context,
  { jobIds, tenantId }: { jobIds: string[]; tenantId?: string },
): { jobId: string; isNoted: boolean; droppedThrough: number }[] {
  return jobIds.flatMap((jobId) => {
    const job = findById(context, jobId)?.record;
    if (job === undefined || (tenantId !== undefined && job.tenantId !== tenantId)) return [];
    const { output_sizes, output_dropped_through } = outputRow(context.sql, job.seq);
    return [{ jobId, isNoted: output_sizes !== null, droppedThrough: output_dropped_through }];
  });
}

/** Gives up the output of finished jobs, the one that ended first before the others, until at most this much is kept. */
export function dropOutputs(
  context: Context,
  { downToBytes, limit, nowMs }: { downToBytes: number; limit: number; nowMs: number },
): { dropped: DroppedOutput[]; keptBytes: number } {
  writeRowsNow(context);
  context.mustFlush = true;
  const ended = selectEntries(
    context,
    `JOIN job_outputs ON job_outputs.job_seq = jobs.seq AND output_bytes > 0
      WHERE completed_at IS NOT NULL AND status >= 3 ORDER BY completed_at LIMIT ?`,
    limit,
  );
  const dropped: DroppedOutput[] = [];
  for (const entry of ended) {
    if (context.tallies.get("output_bytes") <= downToBytes) break;
    dropped.push(dropOutput(context, entry, nowMs));
  }
  return { dropped, keptBytes: context.tallies.get("output_bytes") };
}

function dropOutput(context: Context, entry: JobEntry, nowMs: number): DroppedOutput {
  const { sql, tallies, frame } = context;
  const { record } = entry;
  const row = outputRow(sql, record.seq);
  const attempts = keptAttempts(JSON.parse(row.output_sizes ?? "{}"), row.output_dropped_through);
  sql.run(
    "UPDATE job_outputs SET output_bytes = 0, output_dropped_through = ? WHERE job_seq = ?",
    record.attempt,
    record.seq,
  );
  sql.run("DELETE FROM small_outputs WHERE job_seq = ?", record.seq);
  context.removal = "some";
  tallies.add("output_bytes", -row.output_bytes);
  const removed = { event: "OUTPUT_REMOVED", details: { bytes: row.output_bytes, attempts } } as const;
  const eventCount = record.eventCount + 1;
  appendEvent(context, jobEvent(record, removed, { ts: nowMs, jobSeq: eventCount, origin: null }));
  const eventFrames = addEventFrame(context, entry, frame.number);
  context.jobs.put({ ...entry, record: { ...record, eventCount }, eventFrames });
  context.notice.job(record.id);
  return { jobId: record.id, attempts, bytes: row.output_bytes };
}

/** How many bytes of a job are kept, before it is deleted with all of them. */
export function removeOutputs({ sql, tallies }: Context, seq: number): void {
  tallies.add("output_bytes", -outputRow(sql, seq).output_bytes);
  sql.run("DELETE FROM small_outputs WHERE job_seq = ?", seq);
  sql.run("DELETE FROM job_outputs WHERE job_seq = ?", seq);
}
