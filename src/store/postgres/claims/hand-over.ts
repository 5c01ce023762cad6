import { isPaused } from "../../queues/claim-pause.ts";
import type { Parked } from "../../queues/parked-claims.ts";
import { MetOthers } from "../transaction/answers.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { askFronts, leaseJobs } from "./lease-jobs.ts";

type Share = Parked & { jobs: number };

/**
 * Leases jobs that became claimable in this transaction to claims that wait for them, so that one commit serves both. Jobs
 * are shared out evenly among the claims that fit. Everything that decides about a claim decides here too. What is left
 * over wakes its workers after the commit. Why: ADR 0063, ADR 0084.
 */
export async function handOver(tx: Transaction, nowMs: number): Promise<void> {
  const shares = tx.inBook(() => shareOut(tx));
  if (shares.length === 0) return;
  const free = await freeWorkers(tx, shares, nowMs);
  const given = new Set<string>();
  for (const { id, input, jobs } of shares) {
    // It may have got jobs of another queue already.
    if (given.has(id)) continue;
    if (!free.has(input.workerId)) {
      tx.shared.parked.leave(id);
      continue;
    }
    const claim = { ...input, max: Math.min(input.max, jobs), rules: { ...input.rules, nowMs } };
    const fronts = askFronts(tx, [claim]);
    const onLeased = ({ queueKey }: { queueKey: string }) => tx.work.notice.ready(queueKey, -1);
    const [answer] = await leaseJobs(tx, [claim], fronts, onLeased);
    if (answer === undefined || "error" in answer || answer.value.claimed.length === 0) continue;
    given.add(id);
    tx.work.notice.handOver(id, answer.value.claimed);
  }
  // Another transaction may have served it meanwhile; then the jobs of this one would be leased to a claim that has gone.
  const { parked } = tx.shared;
  if ([...given].some((id) => !parked.has(id))) throw new MetOthers();
  for (const id of given) tx.shared.handOver(id, tx.ended);
}

/** The claims that fit the queues with new jobs, and how many jobs each of them should get. */
function shareOut({ work, shared: { book, parked } }: Transaction): Share[] {
  return work.notice.readySoFar().flatMap(({ queueKey, count }) => {
    const facts = book.byKey(queueKey)?.facts;
    const claims = facts === undefined ? [] : parked.fitting(facts, count);
    return claims.map((claim) => ({ ...claim, jobs: Math.ceil(count / claims.length) }));
  });
}

/**
 * A worker may have been blocked, drained or removed since it claimed, or have refused a claim, and the hub may have been locked
 * since this transaction began.
 */
async function freeWorkers(tx: Transaction, shares: Share[], nowMs: number): Promise<Set<string>> {
  const rows = await tx.sql.all<{ id: string; pausedUntil: number | null }>(
    `SELECT id, paused_until AS "pausedUntil" FROM workers WHERE id = ANY ($1) AND NOT blocked AND NOT draining
      AND NOT EXISTS (SELECT 1 FROM lockdown)`,
    shares.map(({ input }) => input.workerId),
  );
  return new Set(rows.filter((worker) => !isPaused(worker, nowMs)).map(({ id }) => id));
}
