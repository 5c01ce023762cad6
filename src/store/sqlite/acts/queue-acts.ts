// Reads queues and quotas, most of it from memory. Why: ADR 0003.
import { type JobState, jobStates } from "../../../core/jobs/job.ts";
import type { Quota } from "../../../core/jobs/quota.ts";
import { listWaitingQueues as listWaiting, type WaitingQueue } from "../../queues/list-waiting-queues.ts";
import { type ScheduledOf, summarizeQueues } from "../../queues/summarize-queues.ts";
import { type QueueSurveyLine, surveyQueues as survey } from "../../queues/survey-queues.ts";
import type { QueueSummary, TenantUsage } from "../../store.ts";
import type { ColdContext } from "../context.ts";
import { schemaVersion } from "../database/migrate.ts";
import type { ReadContext } from "../reads/read-context.ts";

export function getQuota(context: ColdContext, { tenantId }: { tenantId: string }): Quota {
  return context.book.quota(tenantId);
}

export function listQuotas({ book }: ColdContext): TenantUsage[] {
  return book.usages();
}

/** A file of rows names these columns alike, so that a take-over can compare. */
type QueueReads = Pick<ReadContext, "sql" | "book">;

export function listQueues(context: QueueReads): QueueSummary[] {
  return summarizeQueues(context.book, scheduledIn(context));
}

export function listWaitingQueues(context: QueueReads): WaitingQueue[] {
  return listWaiting(context.book, scheduledIn(context));
}

/** Counted when somebody asks: a count that is kept would be one more write for every delayed job. */
function scheduledIn({ sql }: QueueReads): ScheduledOf {
  const rows = sql.all<{ id: number; jobs: number }>(
    `SELECT queue_id AS id, count(*) AS jobs FROM jobs INDEXED BY jobs_delayed
      WHERE ready = 0 AND attempt = 0 GROUP BY queue_id`,
  );
  const counts = new Map(rows.map(({ id, jobs }) => [id, jobs]));
  return ({ id }) => counts.get(id) ?? 0;
}

/** One seek for each priority, because the index has the oldest job of each. */
const oldestText = `WITH priorities (priority) AS (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10))
  SELECT min((
    SELECT max(created_at, run_at) FROM jobs
      WHERE queue_id = ?1 AND ready = 1 AND jobs.priority = priorities.priority ORDER BY seq LIMIT 1
  )) AS at FROM priorities`;

export function surveyQueues(context: QueueReads): QueueSurveyLine[] {
  const { book, sql } = context;
  return survey(book, {
    oldestOf: ({ id }) => sql.first<{ at: number | null }>(oldestText, id)!.at,
    scheduledOf: scheduledIn(context),
  });
}

/** After a failed commit, a ping tries a write, so that health stays red until the disk accepts writes again. */
export function ping(context: ColdContext): {
  schemaVersion: number;
  server: string;
  jobs: Record<JobState, number>;
} {
  if (context.writeFailed) {
    context.sql.run(
      "INSERT INTO tallies (name, value) VALUES ('ping', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
    );
  }
  const jobs = Object.fromEntries(jobStates.map((state) => [state, context.tallies.get(`jobs.${state}`)]));
  const server = `SQLite ${process.versions.sqlite}`;
  return { schemaVersion: schemaVersion(context.sql), server, jobs: jobs as Record<JobState, number> };
}
