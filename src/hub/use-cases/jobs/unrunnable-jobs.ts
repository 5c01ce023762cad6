import type { HubDeps } from "../../deps.ts";
import { judgeFor } from "./judge-workers.ts";

type Scope = { tenantId: string | null; type: string | undefined };
type UnrunnableQueue = { tenantId: string; type: string; jobs: number; why: string };

/** Jobs that wait and that no worker can run as it is now; `queues` names the largest groups. */
export type UnrunnableJobs = { jobs: number; queues: UnrunnableQueue[] };

const queuesShownMax = 5;
/** Each queue is compared with each worker, up to this number, so that one call never takes long. */
const comparisonsMax = 200_000;

/** Finds jobs that no worker can run. Jobs that wait for a free slot and jobs of a paused type are not among them. */
export async function unrunnableJobs(deps: HubDeps, { tenantId, type }: Scope): Promise<UnrunnableJobs> {
  const waiting = (await deps.store.listWaitingQueues()).filter(
    ({ facts }) =>
      (tenantId === null || facts.tenant_id === tenantId) && (type === undefined || facts.type === type),
  );
  if (waiting.length === 0) return { jobs: 0, queues: [] };
  const workers = await deps.store.listWorkers();
  const compared = waiting.slice(0, Math.ceil(comparisonsMax / Math.max(1, workers.length)));
  const groups = new Map<string, UnrunnableQueue>();
  for (const { facts, waiting: jobs } of compared) {
    const [closest] = judgeFor(deps, facts, workers);
    const lacks = closest === undefined ? [] : [...closest.misfits, closest.unavailable].filter(Boolean);
    if (closest !== undefined && lacks.length === 0) continue;
    const why =
      closest === undefined ? "no worker is registered" : `the closest, ${closest.id}, ${lacks.join(", ")}`;
    const name = JSON.stringify([facts.tenant_id, facts.type]);
    const known = groups.get(name) ?? { tenantId: facts.tenant_id, type: facts.type, jobs: 0, why };
    groups.set(name, { ...known, jobs: known.jobs + jobs });
  }
  const queues = [...groups.values()].sort((a, b) => b.jobs - a.jobs);
  return {
    jobs: queues.reduce((sum, queue) => sum + queue.jobs, 0),
    queues: queues.slice(0, queuesShownMax),
  };
}
