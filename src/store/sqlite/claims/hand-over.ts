import { isPaused } from "../../queues/claim-pause.ts";
import type { Parked } from "../../queues/parked-claims.ts";
import { type Context, markContext, rollBackContext } from "../context.ts";
import { blame } from "../database/sqlite-error.ts";
import { leaseJobs } from "./claim-jobs.ts";

/**
 * Leases jobs that became claimable in this transaction to claims that wait for them, so that one sync serves both.
 * Jobs are shared out evenly among the claims that fit. Everything that decides about a claim decides here too: turns,
 * quotas, paused queues, lockdowns. What is left over wakes its workers after the commit. Whatever is wrong with a
 * hand-over, the jobs are accepted and wait in their queues. Why: ADR 0063.
 */
export function handOver(context: Context): void {
  const nowMs = context.parked.takeReadyTime();
  const shares = nowMs === null ? [] : shareOut(context);
  if (nowMs === null || shares.length === 0) return;
  const mark = markContext(context);
  context.sql.run("SAVEPOINT hand_over");
  try {
    for (const share of shares) give(context, share, nowMs);
    context.sql.run("RELEASE hand_over");
  } catch (error) {
    if (blame(error) !== "act") throw error;
    context.sql.script("ROLLBACK TO hand_over; RELEASE hand_over");
    rollBackContext(context, mark);
  }
}

type Share = Parked & { jobs: number };

/** The claims that fit the queues with new jobs, and how many jobs each of them should get. */
function shareOut({ notice, book, parked }: Context): Share[] {
  return notice.readySoFar().flatMap(({ queueKey, count }) => {
    const facts = book.byKey(queueKey)?.facts;
    const claims = facts === undefined ? [] : parked.fitting(facts, count);
    return claims.map((claim) => ({ ...claim, jobs: Math.ceil(count / claims.length) }));
  });
}

function give(context: Context, { id, input, jobs }: Share, nowMs: number): void {
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
function mayBeGiven({ sql }: Context, workerId: string, nowMs: number): boolean {
  const worker = sql.first<{ pausedUntil: number | null }>(
    "SELECT paused_until AS pausedUntil FROM workers WHERE id = ? AND blocked = 0 AND draining = 0",
    workerId,
  );
  return worker !== null && !isPaused(worker, nowMs);
}

export function unparkClaim(context: Context, { claimId }: { claimId: string }): void {
  context.parked.leave(claimId);
}
