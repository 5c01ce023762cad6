import { type Change, decideChange } from "../../core/change.ts";
import { dueAt } from "../../core/due.ts";
import { jobEventDetails, type Origin } from "../../core/events.ts";
import { isActive, type JobRecord } from "../../core/job.ts";
import type { ChangeRules, Outcome } from "../../core/outcome.ts";
import type { Context } from "./context.ts";
import { appendEvent } from "./event-log.ts";
import { loadJob, updateJob } from "./job-row.ts";

/** What became of a change, with the whole record as it stands now. */
export type WriteAnswer =
  | ((Extract<Outcome, { kind: "refused" | "duplicate" }> | { kind: "moved" }) & { job: JobRecord })
  | { kind: "unknown" };

export type WriteRules = { rules: ChangeRules; origin: Origin | null };

/** Nobody else writes while a transaction is open; a second look is enough for a record that memory held too long. */
const looksMax = 3;

/**
 * The only way in which a job changes once it is stored: ask the rules, write under the fence, and in the same
 * breath the events, the counters and what others must hear after the commit.
 */
export function writeJob(context: Context, job: JobRecord, change: Change, how: WriteRules): WriteAnswer {
  let before = job;
  for (let look = 1; look <= looksMax; look++) {
    const outcome = decideChange(before, change, how.rules);
    if (outcome.kind === "moved") {
      const patch = { ...outcome.patch, eventCount: before.eventCount + outcome.events.length };
      const after = { ...before, ...patch };
      const columns = {
        ...readiness(before, after, how.rules.nowMs),
        dueAt: dueAt(after, how.rules.leaseMs),
      };
      if (updateJob(context, before, patch, columns)) {
        settle(context, { before, after, change, events: outcome.events }, how);
        return { kind: "moved", job: after };
      }
    } else if (look > 1 || before !== context.held.get(before.id)) {
      return { ...outcome, job: before };
    }
    // Either the row is not what memory says, or memory is about to be the reason of a refusal: look at the row.
    context.held.delete(before.id);
    const stored = loadJob(context, before.id);
    if (stored === null) return { kind: "unknown" };
    before = stored;
  }
  throw new Error(`job ${job.id} changed ${looksMax} times inside one transaction`);
}

function readiness(before: JobRecord, after: JobRecord, nowMs: number): { ready?: 0 | 1 | null } {
  if (after.status === "pending") return { ready: after.runAt <= nowMs ? 1 : 0 };
  return before.status === "pending" ? { ready: null } : {};
}

type Written = {
  before: JobRecord;
  after: JobRecord;
  change: Change;
  events: Extract<Outcome, { kind: "moved" }>["events"];
};

function settle(context: Context, written: Written, how: WriteRules): void {
  const { before, after, events } = written;
  events.forEach(({ event, details }, index) => {
    appendEvent(context, {
      event,
      ts: how.rules.nowMs,
      tenantId: after.tenantId,
      jobId: after.id,
      ownerId: after.userId,
      jobSeq: before.eventCount + index + 1,
      details: { ...jobEventDetails(after), ...details },
      origin: how.origin,
    });
  });
  if (after.status !== before.status) countMove(context, written);
  if (events.length > 0) context.notice.job(after.id);
  tellWorker(context, written);
  if (isReady(after, how.rules.nowMs)) context.notice.ready(after.queueKey, 1);
  hold(context, after);
}

function isReady(job: JobRecord, nowMs: number): boolean {
  return job.status === "pending" && job.runAt <= nowMs;
}

function countMove(context: Context, { before, after, change }: Written): void {
  context.tallies.add(`jobs.${before.status}`, -1);
  context.tallies.add(`jobs.${after.status}`, 1);
  const queue = context.book.byKey(after.queueKey);
  const pending = Number(after.status === "pending") - Number(before.status === "pending");
  const active = Number(isActive(after.status)) - Number(isActive(before.status));
  if (queue !== undefined && (pending !== 0 || active !== 0)) {
    context.book.adjust(queue, pending, active);
    if (active < 0) wakeHeldBack(context, queue.tenant.id);
  }
  if (active > 0) context.workers.add(after.workerId!, { active: 1 });
  if (active < 0) context.workers.add(before.workerId!, { active: -1, ...outcomeOf(after, change) });
}

function outcomeOf(after: JobRecord, change: Change): { completed?: 1; failed?: 1 } {
  if (change.act === "release" || change.act === "recall") return {};
  return after.status === "completed" ? { completed: 1 } : { failed: 1 };
}

/** A tenant that was at its limit of running jobs may take one more: whoever waits for its queues must hear it. */
function wakeHeldBack(context: Context, tenantId: string): void {
  const limit = context.book.quota(tenantId).max_running;
  const tenant = context.book.tenant(tenantId);
  if (limit === undefined || tenant.active + 1 < limit) return;
  for (const queue of tenant.queues) {
    if (queue.pending > 0) context.notice.ready(queue.key, 1);
  }
}

function tellWorker(context: Context, { before, after, change, events }: Written): void {
  if (before.workerId === null) return;
  if (events.some(({ event }) => event === "JOB_CANCEL_REQUESTED")) {
    context.notice.signal(before.workerId, after.id, "cancel");
  }
  const takenAway = change.act === "due" || change.act === "disconnect" || change.act === "recall";
  if (takenAway && isActive(before.status) && !isActive(after.status)) {
    context.notice.signal(before.workerId, after.id, "lost");
  }
}

/** More than any fleet holds at once, and 20 MB at most as long as progress texts are short. */
const heldMax = 20_000;

function hold(context: Context, job: JobRecord): void {
  if (!isActive(job.status)) context.held.delete(job.id);
  else if (context.held.size < heldMax || context.held.has(job.id)) context.held.set(job.id, job);
}
