import { isActive, type JobRecord } from "../core/jobs/job.ts";
import type { HubDeps } from "../hub/deps.ts";
import { systemClock } from "../runtime/clock/clock.ts";
import { WakeUp } from "../runtime/clock/wake-up.ts";

type Resting = Pick<HubDeps, "store" | "clock">;

/** A job that could be claimed, and is not within this time, is not waited for: its queue is paused, or no worker takes it. */
const unclaimedMsMax = 2_000;
const jobsMax = 1_000;

type RestOptions = {
  /** The types that a worker of this hub takes at present. */
  types: ReadonlySet<string>;
  /** Only these jobs (default: all). */
  jobIds?: readonly string[];
  /** Jobs that are not waited for. */
  except?: ReadonlySet<string>;
  /** How long to wait for jobs that run (default: until they end). */
  runningMsMax?: number;
};

/**
 * Resolves when none of the jobs runs, and none could be claimed: each has ended, or waits for its time, for an act of a person or for a
 * worker that is not there.
 */
export async function restOfJobs(deps: Resting, options: RestOptions): Promise<void> {
  const wakeUp = new WakeUp();
  const stop = deps.store.onCommit(wakeUp.wake);
  try {
    let quietSinceMs = systemClock.monotonicMs();
    // Bounded by the limits of the caller, or by the jobs, which end in their own time.
    for (;;) {
      wakeUp.clear();
      const busy = await busyJobs(deps, options);
      if (busy.length === 0) return;
      const limitMs = busy.some(({ status }) => isActive(status))
        ? (options.runningMsMax ?? Number.POSITIVE_INFINITY)
        : unclaimedMsMax;
      const leftMs = quietSinceMs + limitMs - systemClock.monotonicMs();
      if (leftMs <= 0) return;
      const timeout = { clock: systemClock, ms: Math.min(leftMs, unclaimedMsMax) };
      if (await wakeUp.wait({ timeout })) quietSinceMs = systemClock.monotonicMs();
    }
  } finally {
    stop();
  }
}

async function busyJobs(
  { store, clock }: Resting,
  { types, jobIds, except }: RestOptions,
): Promise<Pick<JobRecord, "status">[]> {
  const jobs = jobIds === undefined ? await openJobs(store) : await theseJobs(store, jobIds);
  const nowMs = clock.nowMs();
  return jobs.filter(
    ({ id, status, runAt, type }) =>
      !except?.has(id) && (isActive(status) || (status === "pending" && runAt <= nowMs && types.has(type))),
  );
}

async function openJobs(store: Resting["store"]) {
  const page = await store.listJobs({ statuses: ["pending", "assigned", "running"], limit: jobsMax });
  return page.jobs.map(({ job }) => job);
}

async function theseJobs(store: Resting["store"], jobIds: readonly string[]) {
  const found = await Promise.all(jobIds.map((jobId) => store.getJob({ jobId })));
  return found.flatMap((stored) => (stored === null ? [] : [stored.job]));
}
