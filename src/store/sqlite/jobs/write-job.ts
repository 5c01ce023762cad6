import type { Spending } from "../../../core/agents/agent-budget.ts";
import type { Change } from "../../../core/jobs/change.ts";
import { type ChangeContext, decideEffects, type Effects } from "../../../core/jobs/effects.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import type { Outcome } from "../../../core/jobs/outcome.ts";
import { lingersUntil } from "../../../core/lanes/lane-move.ts";
import { addSpendingText } from "../../acts/spending-acts.ts";
import { noteEffects } from "../../jobs/note-effects.ts";
import type { Context } from "../context.ts";
import { countJob } from "../counts/count-job.ts";
import { settleLanesOf } from "../lanes/settle-job.ts";
import { appendEvent } from "../log/append-event.ts";
import { addEventFrame } from "../log/event-frames.ts";
import { isNew, type JobEntry, readyOf } from "./job-entry.ts";
import { changeBeside } from "./keep-beside.ts";
import { settleObjects } from "./settle-objects.ts";

/** The outcome of a change, with the whole record as it is now. Why: ADR 0007, ADR 0022, ADR 0116. */
export type WriteAnswer =
  | ((Extract<Outcome, { kind: "refused" | "duplicate" }> | { kind: "moved" }) & { job: JobRecord })
  | { kind: "unknown" };

/** The only way to change a job: ask the rules, and put what follows into memory and into the frame of the group. */
export function writeJob(context: Context, entry: JobEntry, change: Change, how: ChangeContext): WriteAnswer {
  const before = entry.record;
  const outcome = decideEffects(before, change, how);
  if (outcome.kind !== "moved") return { ...outcome, job: before };
  const { effects } = outcome;
  const { after } = effects;
  const { number } = context.frame;
  context.jobs.put({
    ...entry,
    record: after,
    lineAt: lineOf(context, entry, after),
    receiptAt: receiptOf(context, entry, after),
    ready: readyOf[effects.readiness],
    dueAt: effects.dueAt,
    eventFrames: effects.events.length === 0 ? entry.eventFrames : addEventFrame(context, entry, number),
    document: isNew(after) ? entry.document : null,
  });
  applyEffects(context, entry.queueId, effects);
  if (after.terms !== null) {
    changeBeside(context, before, after);
    settleLanesOf(context, {
      before,
      after,
      queueId: entry.queueId,
      nowMs: how.rules.nowMs,
      lingersUntil: lingersUntil(change.act, how.rules),
      isAnnounced: effects.notices.isReady,
    });
  }
  settleObjects(context, before, after, change);
  return { kind: "moved", job: after };
}

/** A changed timeout is a new line. One that was broken before stays broken. */
function lineOf({ frame }: Context, entry: JobEntry, after: JobRecord): JobEntry["lineAt"] {
  if (after.timeoutSec === entry.record.timeoutSec || !entry.isGenuine) return entry.lineAt;
  return { frame: frame.number, place: frame.addLine(after) };
}

function receiptOf({ frame }: Context, entry: JobEntry, { receipt }: JobRecord): JobEntry["receiptAt"] {
  if (receipt === entry.record.receipt) return entry.receiptAt;
  return receipt === null ? null : { frame: frame.number, place: frame.addReceipt(receipt) };
}

/** Carries out what follows from a change beside the job: events, counters, queues, and notices after the commit. */
export function applyEffects(context: Context, queueId: number, effects: Effects): void {
  const { after, events, counts, readiness, spending } = effects;
  for (const event of events) appendEvent(context, event);
  if (spending !== null) addSpending(context, spending);
  if (counts !== null) {
    const { from, to, worker } = counts;
    if (from !== null) countJob(context, after, from, -1);
    if (to !== null) countJob(context, after, to, 1);
    if (worker !== null) countWorker(context, worker);
  }
  noteEffects(context, effects);
  const queue = context.book.byId(queueId);
  if (queue !== undefined) {
    if (readiness === "now") context.windows.add(queue, after);
    else context.windows.remove(queue, after);
  }
  if (readiness === "later" && context.nextRunAt !== undefined)
    context.nextRunAt = Math.min(context.nextRunAt ?? after.runAt, after.runAt);
}

const spendingText = addSpendingText("VALUES (?, ?, ?, ?, ?)");

function addSpending({ sql }: Context, { tenantId, day, spent }: Spending): void {
  sql.run(spendingText, tenantId, day, spent.usd, spent.tokens, spent.tool_calls);
}

function countWorker(
  { workers, frame }: Context,
  worker: { id: string; active: number; completed: number; failed: number },
): void {
  workers.add(worker.id, worker);
  if (worker.completed + worker.failed > 0) frame.addWorked(worker.id, worker.completed, worker.failed);
}
