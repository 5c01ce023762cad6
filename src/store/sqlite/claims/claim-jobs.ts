import type { JobRecord } from "../../../core/jobs/job.ts";
import { readinessOf } from "../../../core/readiness/readiness.ts";
import { getLockdown, listLockedTenants } from "../../acts/lockdown-acts.ts";
import { Candidates, promotedMax } from "../../queues/claim-candidates.ts";
import { dealJobs, type SealedJob, type TenantInLine, type TenantJobs } from "../../queues/deal-jobs.ts";
import { refuseInLockdown } from "../../response-store.ts";
import type { ClaimInput, ClaimOutcome } from "../../store.ts";
import { driveAct } from "../acts/drive-act.ts";
import type { Context } from "../context.ts";
import { isDamage } from "../database/sqlite-error.ts";
import { checkDocument } from "../jobs/check-document.ts";
import { type JobEntry, readyOf } from "../jobs/job-entry.ts";
import { findEntry } from "../jobs/load-entry.ts";
import { writeJob } from "../jobs/write-job.ts";
import { mayStartInLanes, settleLanesOf } from "../lanes/settle-job.ts";
import { checkState } from "./check-state.ts";
import { promoteDue } from "./promote-jobs.ts";
import { reportDamagedFrame } from "./report-damage.ts";

/** Leases the best jobs that fit the worker. A claim that may wait, and finds none, is parked. Why: ADR 0116. */
export function claimJobs(context: Context, input: ClaimInput): ClaimOutcome {
  const { parkAs } = input;
  if (parkAs !== undefined) context.parked.leave(parkAs);
  const outcome = leaseJobs(context, input);
  if (parkAs !== undefined && outcome.claimed.length === 0) context.parked.park(parkAs, input);
  return outcome;
}

export function leaseJobs(
  context: Context,
  input: ClaimInput,
  onLeased: (job: JobRecord) => void = () => {},
): ClaimOutcome {
  const { sql, book, tallies, macKey } = context;
  const { rules, origin = null } = input;
  const locked = refuseInLockdown(input.worker.tenantId, {
    lockdown: driveAct(sql, getLockdown()),
    tenants: driveAct(sql, listLockedTenants()),
  });
  promoteDue(context, rules.nowMs, promotedMax);
  return dealJobs(
    {
      book,
      macKey,
      isLocked: (tenantId) => locked.has(tenantId),
      jobsOf: (place) => tenantJobs(context, place, input),
      change: (job, change) => {
        if (change.act === "claim" && !mayStartInLanes(context, job, rules.nowMs)) return null;
        const answer = writeJob(context, findEntry(context, job.seq)!, change, { rules, origin });
        if (answer.kind !== "moved") return null;
        if (change.act === "claim") onLeased(answer.job);
        return answer.job;
      },
      delay: (job) => delay(context, job, rules.nowMs),
      nextTurn: () => tallies.add("turn", 1),
      served: (tenant) => context.turns.set(tenant.id, tenant.turn),
    },
    input,
  );
}

/** The numbers are in the window of the queue; a document is read when its turn has come, unless memory has it. Why: ADR 0149. */
function tenantJobs(
  context: Context,
  { queues }: TenantInLine,
  { max, rules: { nowMs } }: ClaimInput,
): TenantJobs {
  const candidates = new Candidates(context.book, queues, {
    wanted: max,
    readPage: (queue, limit) => context.windows.front(queue, limit),
  });
  return {
    peek: () => {
      for (let candidate = candidates.peek(); candidate !== null; candidate = candidates.peek()) {
        const sealed = sealedJob(context, candidate.seq, nowMs);
        if (sealed !== null) return sealed;
        passOver(context, candidate.seq, candidate.priority, queues);
        candidates.take();
      }
      return null;
    },
    take: () => candidates.take(),
  };
}

/** Null if its frame cannot be trusted as a whole: that says nothing about the job, which waits. */
function sealedJob(context: Context, seq: number, nowMs: number): SealedJob | null {
  const known = context.jobs.get(seq);
  const entry = known ?? readPending(context, seq);
  if (entry === null) return null;
  const { record: job } = entry;
  if (entry.document !== null) return { job, document: entry.document, mac: null, isFresh: true };
  const { state, document } = checkDocument(context, entry, { isJustRead: known === undefined });
  const pending = known === undefined ? checkState(context, entry) : "genuine";
  if (state === "unknown" || pending === "unknown") {
    for (const number of framesOf(entry))
      if (!context.frames.isWhole(number)) reportDamagedFrame(context, number, nowMs);
    return null;
  }
  return { job, document, mac: null, isFresh: state === "genuine" && pending === "genuine" };
}

/** A row on a broken page ends the transaction; from then on its job is passed over, so that others can be claimed. */
function readPending(context: Context, seq: number): JobEntry | null {
  try {
    return findEntry(context, seq);
  } catch (error) {
    if (isDamage(error)) context.unreadable.jobs.add(seq);
    throw error;
  }
}

function framesOf({ at, lineAt, eventFrames }: JobEntry): Set<number> {
  const last = Number(eventFrames.slice(eventFrames.lastIndexOf(",") + 1));
  return new Set([at.frame, lineAt?.frame ?? at.frame, last]);
}

function passOver(context: Context, seq: number, priority: number, queues: TenantInLine["queues"]): void {
  context.unreadable.jobs.add(seq);
  for (const queue of queues) context.windows.remove(queue, { seq, priority });
}

/** A job that seemed to be claimable is not: the clock was set back, or its row is wrong. */
function delay(context: Context, { seq }: JobRecord, nowMs: number): void {
  const entry = findEntry(context, seq)!;
  const queue = context.book.byId(entry.queueId);
  if (queue !== undefined) context.windows.remove(queue, entry.record);
  const { record } = entry;
  context.jobs.put({ ...entry, ready: readyOf[readinessOf(record, nowMs)] });
  context.nextRunAt = undefined;
  const wait = { queueId: entry.queueId, nowMs, lingersUntil: null, isAnnounced: false };
  settleLanesOf(context, { before: record, after: record, ...wait });
}
