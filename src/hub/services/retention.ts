import { repeat, type Service } from "../../runtime/service.ts";
import { moveCold } from "../audit/move-cold.ts";
import type { HubDeps } from "../deps.ts";

const dayMs = 86_400_000;
const roundMs = 600_000;
const itemsPerTurn = 500;
/** From so many on it is the storage that fails, and not one output: no more jobs are deleted until it works again. */
const failuresMax = 10;

/** Deletes what has been kept long enough: finished jobs with their output, dead letters, receipts, audit records. */
export function createRetention(deps: HubDeps): Service {
  const { clock, logger, settings } = deps;
  const onError = (error: unknown) => logger.error({ err: error }, "old jobs could not be removed");
  /** Deleted jobs whose output is still there. */
  const left = new Set<string>();
  return repeat({ name: "retention", intervalMs: roundMs, clock, onError }, async (signal) => {
    const nowMs = clock.nowMs();
    const endedBefore = nowMs - settings.jobRetentionDays * dayMs;
    const quarantinedBefore = nowMs - settings.deadLetterDays * dayMs;
    await removeOutputs(deps, left);
    while (!signal.aborted && left.size < failuresMax) {
      const removed = await deps.store.pruneJobs({
        endedBefore,
        quarantinedBefore,
        limit: itemsPerTurn,
        nowMs,
      });
      for (const jobId of removed) left.add(jobId);
      await removeOutputs(deps, left);
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

/**
 * The jobs are deleted already, so one whose output cannot be removed must not keep that of the others. It stays in `left`, for
 * the next round; what is in there when the hub stops belongs to no job, and is removed after the next start.
 */
async function removeOutputs(
  { outputs, logger }: Pick<HubDeps, "outputs" | "logger">,
  left: Set<string>,
): Promise<void> {
  const failures: { jobId: string; error: unknown }[] = [];
  for (const jobId of [...left]) {
    try {
      await outputs.remove(jobId);
      left.delete(jobId);
    } catch (error) {
      failures.push({ jobId, error });
    }
  }
  const [first] = failures;
  if (first === undefined) return;
  logger.error(
    { err: first.error, job_id: first.jobId, count: failures.length },
    "the output of deleted jobs could not be removed; it is tried again in the next round",
  );
}

/** In turns, so that no transaction is long, until one finds less than it may take. */
async function pruneAll(signal: AbortSignal, prune: () => Promise<{ removed: number }>): Promise<void> {
  while (!signal.aborted) {
    if ((await prune()).removed < itemsPerTurn) return;
  }
}
