import type { Origin } from "../../core/events.ts";
import { type JobState, jobStates } from "../../core/job.ts";
import type { QueueSummary, Quota } from "../store.ts";
import type { Context } from "./context.ts";
import { appendPlainEvent } from "./event-log.ts";
import { schemaVersion } from "./migrate.ts";

export function getQuota(context: Context, { tenantId }: { tenantId: string }): Quota {
  return context.book.quota(tenantId);
}

export function putQuota(
  context: Context,
  input: { tenantId: string; quota: Quota; nowMs: number; origin: Origin | null },
): void {
  const { tenantId, quota, nowMs, origin } = input;
  context.sql.run(
    "INSERT INTO quotas (tenant_id, quota) VALUES (?, ?) ON CONFLICT (tenant_id) DO UPDATE SET quota = excluded.quota",
    tenantId,
    JSON.stringify(quota),
  );
  context.book.forgetSettings();
  appendPlainEvent(context, { event: "QUOTA_CHANGED", ts: nowMs, tenantId, origin }, { ...quota });
  // A higher limit may let jobs go that were held back.
  for (const queue of context.book.tenant(tenantId).queues) {
    if (queue.pending > 0) context.notice.ready(queue.key, queue.pending);
  }
}

/** One line for each tenant and type, whatever else distinguishes their queues. */
export function listQueues(context: Context): QueueSummary[] {
  const summaries = new Map<string, QueueSummary>();
  for (const { facts, pending, active } of context.book.all()) {
    const name = JSON.stringify([facts.tenant_id, facts.type]);
    const paused = context.book.isPaused(facts.type);
    const before = summaries.get(name) ?? { pending: 0, active: 0 };
    summaries.set(name, {
      tenantId: facts.tenant_id,
      type: facts.type,
      paused,
      pending: before.pending + pending,
      active: before.active + active,
    });
  }
  return [...summaries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, summary]) => summary);
}

export function setQueuePaused(
  context: Context,
  { type, paused, nowMs, origin }: { type: string; paused: boolean; nowMs: number; origin: Origin | null },
): void {
  if (context.book.isPaused(type) === paused) return;
  if (paused) context.sql.run("INSERT INTO paused_types (type) VALUES (?)", type);
  else context.sql.run("DELETE FROM paused_types WHERE type = ?", type);
  context.book.forgetSettings();
  const event = paused ? "QUEUE_PAUSED" : "QUEUE_RESUMED";
  appendPlainEvent(context, { event, ts: nowMs, tenantId: null, origin }, { type });
  if (paused) return;
  for (const queue of context.book.all()) {
    if (queue.facts.type === type && queue.pending > 0) context.notice.ready(queue.key, queue.pending);
  }
}

/** After a commit that failed, a ping tries a write: so health is red until the disk takes writes again. */
export function ping(context: Context): { schemaVersion: number; jobs: Record<JobState, number> } {
  if (context.writeFailed) {
    context.sql.run(
      "INSERT INTO tallies (name, value) VALUES ('ping', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
    );
  }
  const jobs = Object.fromEntries(jobStates.map((state) => [state, context.tallies.get(`jobs.${state}`)]));
  return { schemaVersion: schemaVersion(context.sql), jobs: jobs as Record<JobState, number> };
}
