import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { isEnded } from "../../../core/jobs/job.ts";
import { isStopped } from "../../../core/jobs/state-names.ts";
import type { StoredJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { cancelJob } from "./end-jobs.ts";
import { findComparedJob } from "./find-job.ts";

/** How long a cancelled job may take beyond one lease: the worker's stop grace, and a round of the reaper. */
const beyondLeaseMs = 5_000;

/**
 * Cancels a job and waits until its process tree is dead, or a silent worker has had all its time. Its output may still
 * be arriving then. Returns the job.
 */
export async function stopJob(
  deps: HubDeps,
  call: { identity: Identity; jobId: string; origin: Origin; signal: AbortSignal },
): Promise<StoredJob> {
  const { over } = await cancelJob(deps, call);
  if (!over) await waitForEnd(deps, call);
  return findComparedJob(deps, call);
}

async function waitForEnd(deps: HubDeps, call: { jobId: string; signal: AbortSignal }): Promise<void> {
  const patience = new AbortController();
  const waitMs = deps.settings.leaseMs + deps.settings.reaperIntervalMs + beyondLeaseMs;
  const timer = deps.clock.setTimer(() => patience.abort(), waitMs);
  const signal = AbortSignal.any([call.signal, patience.signal]);
  try {
    await deps.feed.waitForJob(call.jobId, ({ job }) => isEnded(job.status) || isStopped(job), signal);
  } catch (error) {
    call.signal.throwIfAborted();
    if (!patience.signal.aborted) throw error;
  } finally {
    timer.cancel();
  }
}
