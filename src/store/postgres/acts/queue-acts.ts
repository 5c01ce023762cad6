// Reads queues, quotas and the place of a job in its queue. Why: ADR 0031.
import { type JobState, jobStates } from "../../../core/jobs/job.ts";
import type { Quota } from "../../../core/jobs/quota.ts";
import { aheadMax } from "../../jobs/job-list.ts";
import { listWaitingQueues as listWaiting, type WaitingQueue } from "../../queues/list-waiting-queues.ts";
import type { QueueBook } from "../../queues/queue-book.ts";
import { type ScheduledOf, summarizeQueues } from "../../queues/summarize-queues.ts";
import { type QueueSurveyLine, surveyQueues as survey } from "../../queues/survey-queues.ts";
import type { QueuePosition, QueueSummary, TenantUsage } from "../../store.ts";
import type { Connection } from "../connection/connection.ts";
import { schemaVersion } from "../database/migrate.ts";
import { SharedState } from "../hubs/shared-state.ts";
import type { Transaction } from "../transaction/transaction.ts";

/** The book as the database has it now. */
async function loadBook(sql: Connection): Promise<QueueBook> {
  const state = new SharedState();
  state.apply((await state.ask(sql))!);
  return state.book;
}

export async function getQuota(sql: Connection, { tenantId }: { tenantId: string }): Promise<Quota> {
  const row = await sql.first<{ quota: string }>("SELECT quota FROM quotas WHERE tenant_id = $1", tenantId);
  return row === null ? {} : (JSON.parse(row.quota) as Quota);
}

export async function listQuotas(sql: Connection): Promise<TenantUsage[]> {
  return (await loadBook(sql)).usages();
}

export async function listQueues(sql: Connection): Promise<QueueSummary[]> {
  return summarizeQueues(await loadBook(sql), await scheduledIn(sql));
}

export async function listWaitingQueues(sql: Connection): Promise<WaitingQueue[]> {
  return listWaiting(await loadBook(sql), await scheduledIn(sql));
}

/** Counted when somebody asks: a count that is kept would be one more write for every delayed job. */
async function scheduledIn(sql: Connection): Promise<ScheduledOf> {
  const rows = await sql.all<{ id: number; jobs: number }>(
    "SELECT queue_id AS id, count(*) AS jobs FROM delayed WHERE attempt = 0 GROUP BY queue_id",
  );
  const counts = new Map(rows.map(({ id, jobs }) => [id, jobs]));
  return ({ id }) => counts.get(id) ?? 0;
}

/** One seek for each priority of each queue, because the index has the oldest job of each. */
const oldestText = `SELECT q.id, min(o.since) AS at
  FROM queues q CROSS JOIN generate_series(-10, -1) AS rank CROSS JOIN LATERAL (
    SELECT greatest(created_at, run_at) AS since FROM ready WHERE queue_id = q.id AND ready.rank = rank.rank ORDER BY seq LIMIT 1
  ) AS o WHERE q.pending > 0 GROUP BY q.id`;

export async function surveyQueues(sql: Connection): Promise<QueueSurveyLine[]> {
  const book = await loadBook(sql);
  const rows = await sql.all<{ id: number; at: number }>(oldestText);
  const oldest = new Map(rows.map(({ id, at }) => [id, at]));
  return survey(book, { oldestOf: ({ id }) => oldest.get(id) ?? null, scheduledOf: await scheduledIn(sql) });
}

type Waiting = { queueId: number; rank: number; seq: number; type: string; tenantId: string };

/** How many claimable jobs of the same queue are ahead; null if the job is not pending. */
export async function getQueuePosition(
  sql: Connection,
  { jobId }: { jobId: string },
): Promise<QueuePosition | null> {
  const waiting = await sql.first<Waiting>(
    `SELECT s.queue_id AS "queueId", s.rank, s.seq, j.type, j.tenant_id AS "tenantId"
      FROM jobs j JOIN (SELECT queue_id, rank, seq FROM ready UNION ALL SELECT queue_id, rank, seq FROM delayed
        UNION ALL SELECT queue_id, rank, seq FROM held) AS s USING (seq) WHERE j.id = $1`,
    jobId,
  );
  if (waiting === null) return null;
  return sql.first<QueuePosition>(
    `SELECT (SELECT count(*) FROM (
          SELECT 1 FROM ready WHERE queue_id = $1 AND (rank, seq) < ($2::smallint, $3::bigint) LIMIT $4) AS front) AS ahead,
        EXISTS (SELECT 1 FROM paused_types WHERE type = $5) AS paused,
        (SELECT coalesce(sum(active), 0) FROM queues WHERE tenant_id = $6) AS running`,
    waiting.queueId,
    waiting.rank,
    waiting.seq,
    aheadMax,
    waiting.type,
    waiting.tenantId,
  );
}

/** It asks for the lock of a row that it does not change, so a database that only reads is noticed. */
export async function ping({
  sql,
}: Transaction): Promise<{ schemaVersion: number; server: string; jobs: Record<JobState, number> }> {
  const row = await sql.first<Record<JobState, number> & { version: string }>(
    `SELECT ${jobStates.join(", ")}, current_setting('server_version') AS version FROM log_state`,
  );
  const { version, ...jobs } = row!;
  // Distributions add a name of their own.
  return { schemaVersion: await schemaVersion(sql), server: `PostgreSQL ${version.split(" ")[0]}`, jobs };
}
