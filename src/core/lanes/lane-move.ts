import type { Change } from "../jobs/change.ts";
import { isActive, type JobRecord } from "../jobs/job.ts";
import { termsOf } from "../jobs/terms.ts";
import { readinessOf } from "../readiness/readiness.ts";
import type { LaneTerm } from "./lane.ts";

/**
 * What a job is to its lanes: it may start as far as it is concerned (`ready`), waits for something else (`idle`), has places
 * (`taken`), or needs none any more (`gone`).
 */
export type LaneStand = "ready" | "idle" | "taken" | "gone";

export function laneStandOf(job: JobRecord, nowMs: number): LaneStand {
  if (isActive(job.status)) return "taken";
  if (job.status !== "pending") return "gone";
  return readinessOf(job, nowMs) === "now" ? "ready" : "idle";
}

/** Empty for nearly all jobs, at the price of one comparison. */
export function lanesOf(job: Pick<JobRecord, "terms">): readonly LaneTerm[] {
  return job.terms === null ? none : (termsOf(job).lanes ?? none);
}

const none: readonly LaneTerm[] = [];

/** How long a worker has to stop a process tree that does not stop by itself. */
const stopGraceMs = 5_000;

/**
 * Until when the places of an attempt are still taken after it: null if its worker has said that it is over. What the hub ends by
 * itself may still run, until its worker has noticed that its token is void and has stopped it. Why: ADR 0137.
 */
export function lingersUntil(
  act: Change["act"],
  { nowMs, leaseMs }: { nowMs: number; leaseMs: number },
): number | null {
  const isByHub = act === "due" || act === "disconnect" || act === "recall";
  return isByHub ? nowMs + stopGraceMs + leaseMs : null;
}
