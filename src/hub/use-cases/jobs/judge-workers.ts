import type { JobRecord } from "../../../core/jobs/job.ts";
import { misfits, parseQueueKey, type QueueFacts } from "../../../core/jobs/queue-key.ts";
import { timeText } from "../../../core/text/time-text.ts";
import { isPaused } from "../../../store/queues/claim-pause.ts";
import type { WorkerRecord } from "../../../store/worker-store.ts";
import type { HubDeps } from "../../deps.ts";
import { mayServe, seenBy } from "../access/tenant-wall.ts";
import type { JudgedWorker } from "./wait-reasons.ts";

/** Judges the workers for a job, closest first. A tenant does not see the workers of others. */
export async function judgeWorkers(deps: HubDeps, job: JobRecord): Promise<JudgedWorker[]> {
  return judgeFor(deps, parseQueueKey(job.queueKey), await deps.store.listWorkers());
}

/** The judgement is the same for all jobs of a queue, because they require the same. */
export function judgeFor(
  { keys, clock }: Pick<HubDeps, "keys" | "clock">,
  queue: QueueFacts,
  workers: readonly WorkerRecord[],
): JudgedWorker[] {
  const nowMs = clock.nowMs();
  const judged = workers
    .filter((worker) => mayServe(worker, queue.tenant_id))
    .map((worker) => ({
      id: worker.id,
      misfits: misfits(queue, seenBy(worker, queue.tenant_id).facts),
      unavailable:
        unavailable(worker, nowMs) ??
        (keys.signerFor(worker.keyIds, nowMs) === null ? "trusts none of the hub's keys" : null),
      isFull: worker.currentJobs >= worker.slots,
    }));
  return judged.sort((a, b) => distance(a) - distance(b));
}

/** Why a worker gets no jobs at all at present; null if it could. */
export function unavailable(worker: WorkerRecord, nowMs: number): string | null {
  if (worker.blocked) return "is blocked";
  if (isPaused(worker, nowMs))
    return `is given no jobs until ${timeText(worker.pausedUntil!)}, because it could not verify a claim`;
  if (worker.status === "inactive") return "is inactive";
  if (worker.draining) return "is draining";
  return worker.slots === 0 ? "has no slots" : null;
}

function distance({ misfits: lacks, unavailable: why, isFull }: JudgedWorker): number {
  return lacks.length * 4 + (why === null ? 0 : 2) + (isFull ? 1 : 0);
}
