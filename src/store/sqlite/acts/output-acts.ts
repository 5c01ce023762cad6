import { jobEvent } from "../../../core/events.ts";
import { type AttemptOutput, type DroppedOutput, keptAttempts } from "../../output-store.ts";
import type { Context } from "../context.ts";
import { loadJob } from "../jobs/job-row.ts";
import { noteOutput, type OutputRow, outputRow } from "../jobs/note-output.ts";
import { removeSmallOutputs } from "../jobs/small-outputs.ts";
import { appendEvent } from "../log/event-log.ts";

/** Records how much attempts have written so far. Why: ADR 0023. */
export function noteOutputs(
  context: Context,
  { outputs }: { outputs: AttemptOutput[] },
): { keptBytes: number } {
  for (const output of outputs) noteOutput(context, output);
  return { keptBytes: context.tallies.get("output_bytes") };
}

export function getOutputNotes(
  context: Context,
  { jobIds, tenantId }: { jobIds: string[]; tenantId?: string },
): { jobId: string; isNoted: boolean; droppedThrough: number }[] {
  const rows = context.sql.all<{ id: string; noted: number; output_dropped_through: number }>(
    `SELECT id, output_sizes IS NOT NULL AS noted, output_dropped_through
      FROM jobs WHERE id IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR tenant_id = ?2)`,
    JSON.stringify(jobIds),
    tenantId ?? null,
  );
  return rows.map((row) => ({
    jobId: row.id,
    isNoted: row.noted === 1,
    droppedThrough: row.output_dropped_through,
  }));
}

/**
 * Gives up the output of finished jobs, beginning with the one that ended first, until at most this many bytes are
 * kept.
 */
export function dropOutputs(
  context: Context,
  { downToBytes, limit, nowMs }: { downToBytes: number; limit: number; nowMs: number },
): { dropped: DroppedOutput[]; keptBytes: number } {
  const dropped: DroppedOutput[] = [];
  const ids = context.sql.all<{ id: string }>(
    `SELECT id FROM jobs WHERE output_bytes > 0 AND completed_at IS NOT NULL
        AND status IN ('completed', 'failed', 'quarantined')
      ORDER BY completed_at LIMIT ?`,
    limit,
  );
  for (const { id } of ids) {
    if (context.tallies.get("output_bytes") <= downToBytes) break;
    dropped.push(dropOutput(context, id, nowMs));
  }
  return { dropped, keptBytes: context.tallies.get("output_bytes") };
}

function dropOutput(context: Context, jobId: string, nowMs: number): DroppedOutput {
  const job = loadJob(context, jobId)!;
  const row = context.sql.first<OutputRow>(`${outputRow} WHERE seq = ?`, job.seq)!;
  const attempts = keptAttempts(JSON.parse(row.output_sizes ?? "{}"), row.output_dropped_through);
  context.sql.run(
    "UPDATE jobs SET output_bytes = 0, output_dropped_through = attempt, event_count = event_count + 1 WHERE seq = ?",
    job.seq,
  );
  removeSmallOutputs(context, job.seq);
  context.tallies.add("output_bytes", -row.output_bytes);
  const removed = { event: "OUTPUT_REMOVED", details: { bytes: row.output_bytes, attempts } } as const;
  appendEvent(context, jobEvent(job, removed, { ts: nowMs, jobSeq: job.eventCount + 1, origin: null }));
  context.notice.job(jobId);
  return { jobId, attempts, bytes: row.output_bytes };
}
