import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import { isPaused } from "../../store/queues/claim-pause.ts";
import type { WorkerRecord } from "../../store/worker-store.ts";
import type { HubDeps } from "../deps.ts";
import { isOwn, seenBy } from "../use-cases/access/tenant-wall.ts";

/**
 * A worker as a tenant or a caller for all tenants sees it. The load of a shared worker concerns all tenants, so a
 * tenant does not see it. With `samples`, that many measurements are shown, evenly from the last hour and including the
 * newest.
 */
export async function workerView(
  { store, clock }: Pick<HubDeps, "store" | "clock">,
  found: WorkerRecord,
  { tenantId, samples }: { tenantId: string | null; samples?: number | undefined },
): Promise<WorkerView> {
  const worker = seenBy(found, tenantId);
  const showsLoad = isOwn(found, tenantId);
  const metrics = await readMetrics(store, worker.id, showsLoad ? samples : 0);
  return {
    id: worker.id,
    name: worker.name,
    location: worker.facts.location,
    cores: worker.facts.cores,
    ram_gb: worker.facts.ramGb,
    tags: worker.facts.tags,
    types: worker.facts.types,
    kinds: worker.facts.kinds,
    sessions: worker.facts.sessions,
    containers: worker.facts.containers,
    document_format: worker.facts.documentFormat,
    sandbox_problem: worker.facts.sandboxProblem ?? null,
    agent_problems: worker.facts.agentProblems ?? [],
    isolation: (worker.facts.isolation as WorkerView["isolation"]) ?? null,
    key_ids: worker.keyIds,
    slots: worker.slots,
    capabilities: worker.facts.capabilities,
    status: workerStatus(worker),
    paused_until: isPaused(worker, clock.nowMs()) ? worker.pausedUntil : null,
    registered_at: worker.registeredAt,
    last_heartbeat: worker.lastHeartbeat,
    current_jobs: showsLoad ? worker.currentJobs : null,
    job_counts: showsLoad ? worker.jobCounts : null,
    metrics: metrics.map((sample) => JSON.parse(sample.metrics)),
    version: worker.version,
  };
}

type Sample = { ts: number; metrics: string };

async function readMetrics(
  store: Pick<HubDeps["store"], "listWorkerMetrics">,
  workerId: string,
  samples: number | undefined,
): Promise<Sample[]> {
  if (samples === 0) return [];
  if (samples === 1) return store.listWorkerMetrics({ workerId, newest: 1 });
  const all = await store.listWorkerMetrics({ workerId });
  if (samples === undefined || all.length <= samples) return all;
  const last = all.length - 1;
  return Array.from({ length: samples }, (_, index) => all[Math.round((index * last) / (samples - 1))]!);
}

export function workerStatus({ blocked, draining, status }: WorkerRecord): WorkerView["status"] {
  if (blocked) return "blocked";
  return draining ? "draining" : status;
}
