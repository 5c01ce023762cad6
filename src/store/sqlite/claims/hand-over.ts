import type { JobRecord } from "../../../core/jobs/job.ts";
import type { NoticeBuilder } from "../../jobs/notice-builder.ts";
import { isPaused } from "../../queues/claim-pause.ts";
import type { Parked, ParkedClaims } from "../../queues/parked-claims.ts";
import type { QueueBook } from "../../queues/queue-book.ts";
import type { ClaimInput, ClaimOutcome } from "../../store.ts";
import type { Connection } from "../database/connection.ts";
import { blame } from "../database/sqlite-error.ts";

type HandOverContext = {
  readonly sql: Connection;
  readonly book: QueueBook;
  readonly notice: NoticeBuilder;
  readonly parked: ParkedClaims;
};

/** How a driver leases jobs, and undoes what it has leased. */
type Leasing<Context, Mark> = {
  leaseJobs(context: Context, input: ClaimInput, onLeased: (job: JobRecord) => void): ClaimOutcome;
  mark(context: Context): Mark;
  backTo(context: Context, mark: Mark): void;
};

/**
 * Leases jobs that became claimable in this transaction to claims that wait for them, so that one sync serves both.
 * Jobs are shared out evenly among the claims that fit. Everything that decides about a claim decides here too: turns,
 * quotas, paused queues, lockdowns. What is left over wakes its workers after the commit. Whatever is wrong with a
 * hand-over, the jobs are accepted and wait in their queues. Why: ADR 0063.
 */
export function handOver<Context extends HandOverContext, Mark>(
  context: Context,
  leasing: Leasing<Context, Mark>,
): void {
  const nowMs = context.parked.takeReadyTime();
  const shares = nowMs === null ? [] : shareOut(context);
  if (nowMs === null || shares.length === 0) return;
  const mark = leasing.mark(context);
  context.sql.run("SAVEPOINT hand_over");
  try {
    for (const share of shares) give(context, leasing, { ...share, nowMs });
    context.sql.run("RELEASE hand_over");
  } catch (error) {
    if (blame(error) !== "act") throw error;
    context.sql.script("ROLLBACK TO hand_over; RELEASE hand_over");
    leasing.backTo(context, mark);
  }
}

type Share = Parked & { jobs: number };

/** The claims that fit the queues with new jobs, and how many jobs each of them should get. */
function shareOut({ notice, book, parked }: HandOverContext): Share[] {
  return notice.readySoFar().flatMap(({ queueKey, count }) => {
    const facts = book.byKey(queueKey)?.facts;
    const claims = facts === undefined ? [] : parked.fitting(facts, count);
    return claims.map((claim) => ({ ...claim, jobs: Math.ceil(count / claims.length) }));
  });
}

function give<Context extends HandOverContext, Mark>(
  context: Context,
  { leaseJobs }: Leasing<Context, Mark>,
  { id, input, jobs, nowMs }: Share & { nowMs: number },
): void {
  // It may have got jobs of another queue already.
  if (!context.parked.has(id)) return;
  if (!mayBeGiven(context, input.workerId, nowMs)) {
    context.parked.leave(id);
    return;
  }
  const { claimed } = leaseJobs(
    context,
    { ...input, max: Math.min(input.max, jobs), rules: { ...input.rules, nowMs } },
    ({ queueKey }) => context.notice.ready(queueKey, -1),
  );
  if (claimed.length === 0) return;
  context.parked.leave(id);
  context.notice.handOver(id, claimed);
}

/** The worker may have been blocked, drained or removed since it claimed, or have refused a claim. */
function mayBeGiven({ sql }: HandOverContext, workerId: string, nowMs: number): boolean {
  const worker = sql.first<{ pausedUntil: number | null }>(
    "SELECT paused_until AS pausedUntil FROM workers WHERE id = ? AND blocked = 0 AND draining = 0",
    workerId,
  );
  return worker !== null && !isPaused(worker, nowMs);
}

export function unparkClaim(
  { parked }: Pick<HandOverContext, "parked">,
  { claimId }: { claimId: string },
): void {
  parked.leave(claimId);
}
