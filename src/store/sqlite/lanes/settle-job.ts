import type { JobRecord } from "../../../core/jobs/job.ts";
import { laneStandOf, lanesOf } from "../../../core/lanes/lane-move.ts";
import { type LaneDriver, mayStart, openDueLanes, openLanes, settleLanes } from "../../acts/settle-lanes.ts";
import { driveAct } from "../acts/drive-act.ts";
import type { Context } from "../context.ts";
import type { Ready } from "../jobs/job-entry.ts";
import { findEntry } from "../jobs/load-entry.ts";

type Settled = {
  /** Null for a new job. */
  before: JobRecord | null;
  after: JobRecord;
  queueId: number;
  nowMs: number;
  lingersUntil: number | null;
  /** Whether workers are told after the commit that it can be claimed. */
  isAnnounced: boolean;
};

/**
 * Lets the lanes of a job follow its row, in the same transaction. Their tables are written at once, so that a replay has nothing to
 * do for them. Why: ADR 0137.
 */
export function settleLanesOf(context: Context, settled: Settled): void {
  const { before, after, queueId, nowMs, lingersUntil, isAnnounced } = settled;
  const terms = lanesOf(after);
  if (terms.length === 0) return;
  const from = before === null ? "gone" : laneStandOf(before, nowMs);
  const to = laneStandOf(after, nowMs);
  if (from === to && (to === "taken" || to === "gone")) return;
  const { seq, id, priority, tenantId, userId, attempt } = after;
  const job = { seq, id, queueId, priority, tenantId, userId, attempt, terms };
  const move = { ...job, from, to, lingersUntil, isNew: before === null };
  driveAct(context.sql, settleLanes(laneDriver(context, isAnnounced), [move], nowMs));
}

/** Whether a job may start, as its lanes are in this transaction. */
export function mayStartInLanes(context: Context, job: JobRecord, nowMs: number): boolean {
  const terms = lanesOf(job);
  if (terms.length === 0) return true;
  const { tenantId, userId } = job;
  const open = driveAct(context.sql, openLanes([{ tenantId, userId, terms }]));
  return mayStart(open, { tenantId, userId, terms }, nowMs);
}

export function openLanesOf(context: Context, input: { nowMs: number; limit: number }): number | null {
  return driveAct(context.sql, openDueLanes(laneDriver(context, false), input));
}

function laneDriver(context: Context, isAnnounced: boolean): LaneDriver {
  return {
    // biome-ignore lint/correctness/useYield: memory, or a row that is read here, has the job.
    *admit(seq) {
      const queue = setReady(context, seq, 1);
      if (queue !== undefined) context.notice.ready(queue.key, 1);
      return true;
    },
    putInLine(seq) {
      const queue = setReady(context, seq, 3);
      if (isAnnounced && queue !== undefined) context.notice.ready(queue.key, -1);
    },
  };
}

function setReady(context: Context, seq: number, ready: Ready) {
  const entry = findEntry(context, seq)!;
  context.jobs.put({ ...entry, ready });
  const queue = context.book.byId(entry.queueId);
  if (queue === undefined) return undefined;
  if (ready === 1) {
    context.windows.add(queue, entry.record);
    context.book.nowReady(queue, entry.record);
  } else {
    context.windows.remove(queue, entry.record);
    context.book.notReady(queue, seq);
  }
  return queue;
}
