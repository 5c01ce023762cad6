import type { VerifiedClaim } from "../../signing/verify-claim.ts";
import type { RunDeps } from "../attempt/run-job.ts";
import type { ReceivedBatch } from "../hub/hub-calls.ts";
import { type HeldJob, loseOlderAttempts } from "./held-jobs.ts";
import type { LedgerEntry } from "./ledger.ts";
import { refuseBatch } from "./refuse-batch.ts";
import { isForThisProcess, refuseReplay } from "./refuse-claim.ts";
import { releaseLease } from "./release-lease.ts";
import { verifyClaims } from "./verify-claims.ts";

/**
 * The first half of a job's path, for a whole batch at once: verify → ledger. Nothing in a claim is trusted before its
 * signature has been checked. Nothing is executed before its attempt is safely recorded, unless its lease is bound to
 * this process, so that no later process would run it. Why: ADR 0006, ADR 0099.
 */
export async function receiveBatch(deps: RunDeps, batch: ReceivedBatch): Promise<HeldJob[]> {
  const { workerId } = deps.settings;
  const { tally } = deps;
  const nowMs = deps.clock.nowMs();
  const verifier = { trusted: deps.trusted(), workerId, nowMs, tally };
  const sinceMs = deps.clock.monotonicMs();
  const verified = verifyClaims(verifier, batch);
  const verifyMs = deps.clock.monotonicMs() - sinceMs;
  if (verified.refusal !== null) {
    await refuseBatch(deps, batch, verified.refusal);
    return [];
  }
  for (const { lease, reason } of verified.returned) void releaseLease(deps, lease, reason, deps.quit);
  if (verified.unreadable > 0) {
    deps.logger.warn({ count: verified.unreadable }, "claims with an unreadable id were skipped");
  }
  const accepted = verified.accepted.filter(({ lease }) => isForThisProcess(deps, lease));
  const { isNew, saved } = deps.ledger.admit(accepted.map(ledgerEntry));
  const fresh = accepted.filter((claim, index) => isNew[index] || refuseReplay(deps, claim.lease));
  // Held before the ledger is written, because the heartbeat must not wait for a slow disk.
  const held = fresh.map((claim) => deps.held.add(claim, nowMs));
  for (const { lease } of held) loseOlderAttempts(deps.held, lease);
  const returned = verified.returned.length;
  const refused = batch.jobs.length - held.length - returned;
  deps.workLog.claimed({ accepted: held, refused, returned, verifyMs });
  try {
    await saved;
    return held;
  } catch (error) {
    for (const job of held) void releaseHeld(deps, job, "the worker cannot write its ledger");
    deps.onTrouble(error);
    return [];
  }
}

/** Releases an attempt that was never started. */
export async function releaseHeld(deps: RunDeps, held: HeldJob, reason: string): Promise<void> {
  held.phase = "ending";
  await releaseLease(deps, held.lease, reason, held.gone.signal);
  deps.held.remove(held);
}

function ledgerEntry({ lease }: VerifiedClaim): LedgerEntry {
  const { job_id: jobId, attempt, expires_at_ts: expiresAtTs, boot_id } = lease;
  return { jobId, attempt, expiresAtTs, isBound: boot_id !== undefined };
}
