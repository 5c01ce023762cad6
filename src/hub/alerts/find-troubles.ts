import { fits } from "../../core/jobs/queue-key.ts";
import type { WaitingQueue } from "../../store/queues/list-waiting-queues.ts";
import type { WorkerRecord } from "../../store/worker-store.ts";
import type { Trouble } from "./troubles.ts";

/**
 * Workers that fell silent without leaving. Being inactive is not enough: a lockdown makes workers inactive that still
 * call.
 */
export function findSilentWorkers(workers: readonly WorkerRecord[], silentSince: number): Trouble[] {
  return workers
    .filter(({ status, lastHeartbeat }) => status === "inactive" && lastHeartbeat < silentSince)
    .map(({ id, lastHeartbeat }) => ({
      kind: "WORKER_SILENT" as const,
      subject: id,
      says: `worker ${id} is silent since ${new Date(lastHeartbeat).toISOString()}`,
    }));
}

/** Types with jobs that no available worker may take, one entry for each tenant and type. */
export function findStrandedTypes(
  queues: readonly WaitingQueue[],
  available: readonly WorkerRecord[],
): Trouble[] {
  const stranded = queues.filter(({ facts }) => !available.some((worker) => fits(facts, worker.facts)));
  const byType = Map.groupBy(stranded, ({ facts }) => `${facts.type} (tenant ${facts.tenant_id})`);
  return [...byType].map(([subject, group]) => {
    const jobs = group.reduce((sum, { waiting }) => sum + waiting, 0);
    const count = jobs === 1 ? "1 job waits that no worker takes" : `${jobs} jobs wait that no worker takes`;
    const says = `${count}: ${subject}`;
    return { kind: "NO_WORKER" as const, subject, says };
  });
}
