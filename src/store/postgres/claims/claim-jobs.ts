import { getLockdown } from "../../acts/lockdown-acts.ts";
import { promotedMax } from "../../queues/claim-candidates.ts";
import type { ClaimInput } from "../../store.ts";
import { driveAct } from "../acts/drive-act.ts";
import { type Answer, MetOthers } from "../transaction/answers.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { askFronts, type ClaimAnswer, leaseJobs } from "./lease-jobs.ts";
import { notePromoted, promoteDue } from "./promote-jobs.ts";

/**
 * Leases the best jobs that fit each worker. A claim that may wait, and finds none, is parked in the moment in which it is
 * answered. What other transactions of this store have made claimable while it looked was announced before it waits, so
 * then it looks once more. Why: ADR 0080, ADR 0084.
 */
export async function claimJobs(tx: Transaction, claims: ClaimInput[]): Promise<Answer[]> {
  const { shared } = tx;
  for (const { parkAs } of claims) if (parkAs !== undefined) shared.parked.leave(parkAs);
  const { announced } = shared;
  const nowMs = Math.max(...claims.map(({ rules }) => rules.nowMs));
  const [promoted, fronts, lockdown] = await tx.begin(async () => {
    const promoting = promoteDue(tx.sql, nowMs, promotedMax);
    const asked = askFronts(tx, claims);
    // Once the claimable jobs are read, a lockdown waits for this transaction; one that came before them is seen here.
    const locking = driveAct(tx.sql, getLockdown());
    // Together: if the connection breaks, all of them fail, and a failure that is not awaited would end the hub.
    const [promoted, lockdown] = await Promise.all([promoting, locking]);
    return [promoted, asked, lockdown] as const;
  });
  if (lockdown !== null && shared.lockdown === null) throw new MetOthers();
  notePromoted(tx, promoted);
  const answers: Answer[] = await leaseJobs(tx, claims, fronts);
  tx.onCommitted(() => {
    for (const [index, claim] of claims.entries()) {
      if (claim.parkAs === undefined || !isEmpty(answers[index] as ClaimAnswer)) continue;
      if (shared.announced === announced) shared.parked.park(claim.parkAs, claim);
      else answers[index] = { again: true };
    }
  });
  return answers;
}

function isEmpty(answer: ClaimAnswer): boolean {
  return "value" in answer && answer.value.claimed.length === 0;
}
