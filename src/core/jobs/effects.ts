import { type Spending, spendingOf } from "../agents/agent-budget.ts";
import { type JobEvent, jobEvent, type Origin } from "../events.ts";
import { type Readiness, readinessOf } from "../readiness/readiness.ts";
import { type Change, decideChange } from "./change.ts";
import { dueAt } from "./due.ts";
import { isActive, type JobRecord, type JobState } from "./job.ts";
import type { ChangeRules, Outcome } from "./outcome.ts";

/**
 * Everything that follows from a change to a job: what a store writes in one transaction, and which readers and workers
 * it notifies after the commit. A driver carries this out and decides nothing itself. Why: ADR 0022.
 */
export type Effects = {
  after: JobRecord;
  /** The fields that changed, for an update of the row. */
  patch: Partial<JobRecord>;
  readiness: Readiness;
  /** When the hub must act if nothing happens before; null for never. */
  dueAt: number | null;
  /** Already numbered within the job. */
  events: JobEvent[];
  /** Null when the job stays in its state. */
  counts: CountChanges | null;
  /** What coding agents have spent since the last change; null for most changes. */
  spending: Spending | null;
  notices: Notices;
};

/** Changes to the counters that are kept because counting would be slow. */
export type CountChanges = {
  /** Null when the job is new, or deleted. */
  from: JobState | null;
  to: JobState | null;
  /** Those of the job's queue and tenant. */
  jobs: number;
  pending: number;
  active: number;
  /** The worker that has started or ended an attempt. */
  worker: { id: string; active: number; completed: number; failed: number } | null;
};

/** Whom to notify of the commit. */
type Notices = {
  /** Readers of the log. */
  isLogged: boolean;
  /** Workers that fit the job's queue. */
  isReady: boolean;
  /** The worker that holds the job, or held it until now. */
  signal: { workerId: string; signal: "cancel" | "lost" } | null;
};

/** The rules for a change, and where the call came from. */
export type ChangeContext = { rules: ChangeRules; origin: Origin | null };

type UnchangedOutcome = Exclude<Outcome, { kind: "moved" }>;

/** Decides a change and everything that follows from it, or why nothing changes. */
export function decideEffects(
  before: JobRecord,
  change: Change,
  context: ChangeContext,
): { kind: "moved"; effects: Effects } | UnchangedOutcome {
  const outcome = decideChange(before, change, context.rules);
  if (outcome.kind !== "moved") return outcome;
  const { nowMs, leaseMs } = context.rules;
  const patch = { ...outcome.patch, eventCount: before.eventCount + outcome.events.length };
  const after = { ...before, ...patch };
  const readiness = readinessOf(after, nowMs);
  const events = outcome.events.map((happened, index) =>
    jobEvent(after, happened, {
      ts: happened.ts ?? nowMs,
      jobSeq: before.eventCount + index + 1,
      origin: context.origin,
    }),
  );
  return {
    kind: "moved",
    effects: {
      after,
      patch,
      readiness,
      dueAt: dueAt(after, leaseMs),
      events,
      counts: after.status === before.status ? null : countChange(before, after, change),
      spending: spendingOf(before, after, nowMs),
      notices: {
        isLogged: events.length > 0,
        isReady: readiness === "now",
        signal: signalOf(before, after, change),
      },
    },
  };
}

/** Everything that follows from accepting a new job. */
export function submitEffects(job: JobRecord, origin: Origin | null): Effects {
  const after = { ...job, eventCount: 1 };
  const readiness = readinessOf(after, job.createdAt);
  const created = { event: "JOB_CREATED", details: {} } as const;
  return {
    after,
    patch: after,
    readiness,
    // For a pending job, the lease does not matter.
    dueAt: dueAt(after, 0),
    events: [jobEvent(after, created, { ts: job.createdAt, jobSeq: 1, origin })],
    counts: { ...countMove(null, job.status), worker: null },
    spending: null,
    notices: { isLogged: true, isReady: readiness === "now", signal: null },
  };
}

/** How the counters of a queue change with one of its jobs. */
export function countMove(from: JobState | null, to: JobState | null): Omit<CountChanges, "worker"> {
  return {
    from,
    to,
    jobs: Number(to !== null) - Number(from !== null),
    pending: Number(to === "pending") - Number(from === "pending"),
    active: Number(to !== null && isActive(to)) - Number(from !== null && isActive(from)),
  };
}

function countChange(before: JobRecord, after: JobRecord, change: Change): CountChanges {
  const move = countMove(before.status, after.status);
  return { ...move, worker: workerCounts(move.active, { before, after, change }) };
}

/** An attempt that was given back or stopped counts neither for nor against the worker. */
function workerCounts(
  active: number,
  { before, after, change }: { before: JobRecord; after: JobRecord; change: Change },
): CountChanges["worker"] {
  if (active > 0) return { id: after.workerId!, active, completed: 0, failed: 0 };
  if (active === 0) return null;
  const isUncharged = after.attempts < before.attempts;
  const isGivenBack = ["release", "reject", "recall"].includes(change.act) || isUncharged;
  const isStopped = after.status === "failed" && before.cancelRequestedAt !== null;
  const isCompleted = after.status === "completed";
  return {
    id: before.workerId!,
    active,
    completed: Number(!isGivenBack && isCompleted),
    failed: Number(!isGivenBack && !isStopped && !isCompleted),
  };
}

/** The change that the worker must be notified of, because it did not cause it. */
function signalOf(before: JobRecord, after: JobRecord, change: Change): Notices["signal"] {
  const { workerId } = before;
  if (workerId === null) return null;
  const isHeld = isActive(after.status);
  const isToldNow = before.cancelRequestedAt === null && after.cancelRequestedAt !== null;
  if (isToldNow && isHeld) return { workerId, signal: "cancel" };
  const isTakenAway = change.act === "due" || change.act === "disconnect" || change.act === "recall";
  return isTakenAway && isActive(before.status) && !isHeld ? { workerId, signal: "lost" } : null;
}
