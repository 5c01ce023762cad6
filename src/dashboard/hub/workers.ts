import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import { plural } from "../parts/format.ts";
import { callHub } from "./call-hub.ts";
import { type Query, useQuery } from "./use-query.ts";

/** Where only the number of workers is shown, or whether they can be reached; the stream tells when that changes. */
const countedMs = 60_000;
/** Where their load is shown: they report it every ten seconds. */
const loadMs = 15_000;
/** Jobs that begin and end change how many slots are busy. */
const busyMs = 5_000;

/**
 * The fleet, for a person who may see it; for others the hub is not asked. Each worker comes with its newest
 * measurement. `isLoadShown` keeps that and the busy slots up to date.
 */
export function useWorkers(maySee: boolean, { isLoadShown = false } = {}): Query<WorkerView[]> {
  return useQuery(maySee ? "workers" : "no workers", maySee ? loadWorkers : async () => [], {
    everyMs: isLoadShown ? loadMs : countedMs,
    whenMs: busyMs,
    when: ({ events, parts }) => parts.has("workers") || (isLoadShown && events.size > 0),
  });
}

async function loadWorkers(): Promise<WorkerView[]> {
  return (await callHub(pageRoutes.listWorkers, { query: { samples: 1 } })).body;
}

/** Of a worker that was blocked after it left or before it registered, the hub knows only the name. */
export function isRegistered({ cores }: WorkerView): boolean {
  return cores > 0;
}

export function isReachable({ status }: WorkerView): boolean {
  return status === "active" || status === "draining";
}

/** The hub hides from a tenant how busy shared workers are. */
export function slotsText(workers: readonly WorkerView[]): string {
  const slots = workers.reduce((sum, worker) => sum + worker.slots, 0);
  if (workers.some(({ current_jobs }) => current_jobs === null)) return plural(slots, "slot");
  return `${workers.reduce((sum, { current_jobs }) => sum + current_jobs!, 0)} of ${slots} slots busy`;
}
