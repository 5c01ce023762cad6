import { repeat, type Service } from "../../../runtime/service.ts";
import { moveCold } from "../../audit/move-cold.ts";
import type { HubDeps } from "../../deps.ts";
import { LeftOutputs } from "../left-outputs.ts";

const dayMs = 86_400_000;
const roundMs = 600_000;
const itemsPerTurn = 500;

/** Deletes data whose retention has ended: finished jobs with their output, dead letters, receipts, audit records. */
export function createRetention(deps: HubDeps): Service {
  const { clock, failures, settings } = deps;
  const onError = (error: unknown) => failures.error(error, "old jobs could not be removed");
  /** Outputs of deleted jobs. No more jobs are deleted while the storage fails. */
  const left = new LeftOutputs(deps);
  return repeat({ name: "retention", intervalMs: roundMs, clock, onError }, async (signal) => {
    const nowMs = clock.nowMs();
    const endedBefore = nowMs - settings.jobRetentionDays * dayMs;
    const quarantinedBefore = nowMs - settings.deadLetterDays * dayMs;
    await left.removeAll();
    while (!signal.aborted && !left.isStorageFailing) {
      const removed = await deps.store.pruneJobs({
        endedBefore,
        quarantinedBefore,
        limit: itemsPerTurn,
        nowMs,
      });
      for (const jobId of removed) left.add({ jobId, remove: () => deps.outputs.appended.remove(jobId) });
      await left.removeAll();
      if (removed.length < itemsPerTurn) break;
    }
    // A job that is kept longer than the audit trail keeps the signature behind its receipt.
    const signedBefore = nowMs - Math.max(settings.auditColdDays, settings.jobRetentionDays) * dayMs;
    const turn = { before: signedBefore, limit: itemsPerTurn };
    await pruneAll(signal, () => deps.store.pruneReceipts(turn));
    await pruneAll(signal, () => deps.store.pruneReceiptSignatures(turn));
    await moveCold(deps, signal);
  });
}

/** Prunes in turns, so that no transaction is long, until a turn finds less than its limit. */
async function pruneAll(signal: AbortSignal, prune: () => Promise<{ removed: number }>): Promise<void> {
  while (!signal.aborted) {
    if ((await prune()).removed < itemsPerTurn) return;
  }
}
