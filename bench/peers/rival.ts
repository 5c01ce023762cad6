import { perSecondFor } from "../_figures.ts";

/**
 * One queue with a client of its own. Every rival does the same acts with the same jobs, so that what differs between
 * the figures is the queue.
 */
export type Rival = {
  /** Submits one job; resolves when the queue has accepted it. */
  submit(index: number): Promise<unknown>;
  submitMany(count: number): Promise<unknown>;
  /** Starts a worker that calls `onJob` for each job and does nothing else; resolves with its end. */
  work(concurrency: number, onJob: () => void): Promise<() => Promise<void>>;
  /** Whether the queue itself says that no job waits or runs. */
  isEmpty(): Promise<boolean>;
  /** Removes what is left, as fast as it can. */
  clear(): Promise<void>;
  /** Runs process jobs with output, from the submission of the first to the end of the last. */
  runProcesses?(jobs: number, inFlight: number): Promise<void>;
  close(): Promise<void>;
};

export type ActName = "enqueue" | "bulk" | "drain" | "pickUp" | "processes";
/** What one run of an act gave: how many jobs in how many seconds, or a time for each of them. */
export type ActResult = { jobs: number; seconds: number; timesMs?: number[] };
export type ActOptions = { jobs: number; concurrency: number; seconds: number };

export const bulkJobs = 1_000;
const lookMs = 2;
const idleMs = 15;

/** About 200 bytes, as in most queues' own benchmarks. */
export function paramsOf(index: number): { index: number; text: string } {
  return { index, text: "x".repeat(180) };
}

export const acts: Record<ActName, (rival: Rival, options: ActOptions) => Promise<ActResult>> = {
  /** Leaves the jobs there; `clear` removes them outside of what is measured. */
  async enqueue(rival, { seconds, concurrency }) {
    let index = 0;
    const perSecond = await perSecondFor(seconds, concurrency, () => rival.submit(index++));
    return { jobs: index, seconds: index / perSecond };
  },

  /** Leaves the jobs there: the drain that follows takes them. */
  async bulk(rival, { jobs }) {
    const startedAt = performance.now();
    for (let done = 0; done < jobs; done += bulkJobs) await rival.submitMany(Math.min(bulkJobs, jobs - done));
    return { jobs, seconds: secondsSince(startedAt) };
  },

  async drain(rival, { jobs, concurrency }) {
    let done = 0;
    const all = Promise.withResolvers<void>();
    const startedAt = performance.now();
    const stop = await rival.work(concurrency, () => {
      if (++done === jobs) all.resolve();
    });
    await all.promise;
    // A handler that has run is not yet a job that has ended.
    while (!(await rival.isEmpty())) await sleep(lookMs);
    const seconds = secondsSince(startedAt);
    await stop();
    if (done !== jobs) throw new Error(`${jobs} jobs were in the queue, and ${done} ran`);
    return { jobs, seconds };
  },

  /** One job at a time, after a pause in which the worker finds nothing to do. */
  async pickUp(rival, { jobs }) {
    const warmUpJobs = 20;
    let arrived = Promise.withResolvers<number>();
    const stop = await rival.work(10, () => arrived.resolve(performance.now()));
    const timesMs: number[] = [];
    const startedAt = performance.now();
    for (let index = 0; index < jobs + warmUpJobs; index++) {
      await sleep(idleMs);
      arrived = Promise.withResolvers<number>();
      const sentAt = performance.now();
      await rival.submit(index);
      const tookMs = (await arrived.promise) - sentAt;
      if (index >= warmUpJobs) timesMs.push(tookMs);
    }
    const seconds = secondsSince(startedAt);
    await stop();
    return { jobs, seconds, timesMs };
  },

  async processes(rival, { jobs, concurrency }) {
    const startedAt = performance.now();
    await rival.runProcesses!(jobs, concurrency);
    return { jobs, seconds: secondsSince(startedAt) };
  },
};

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000;
}
