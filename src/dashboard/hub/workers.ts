import { routes } from "../../contract/routes.ts";
import type { WorkerView } from "../../contract/view-shapes.ts";
import { callHub } from "./call-hub.ts";
import { type Query, useQuery } from "./use-query.ts";

const everyMs = 5_000;

/** The fleet, for those who may see it; nobody else asks. */
export function useWorkers(maySee: boolean): Query<WorkerView[]> {
  return useQuery(maySee ? "workers" : "no workers", maySee ? loadWorkers : async () => [], { everyMs });
}

async function loadWorkers(): Promise<WorkerView[]> {
  return (await callHub(routes.listWorkers, {})).body;
}

/** A worker that was blocked after it had left, or before it came, is known by its name only. */
export function isRegistered({ cores }: WorkerView): boolean {
  return cores > 0;
}

export function isReachable({ status }: WorkerView): boolean {
  return status === "active" || status === "draining";
}
