import type { Clock } from "../runtime/clock/clock.ts";
import type { Service } from "../runtime/service.ts";
import { giveUpJob, type HeldJobs, stopJob } from "./claims/held-jobs.ts";

type DrainDeps = {
  clock: Clock;
  settings: { drainMs: number; stopGraceMs: number };
  held: HeldJobs;
  /** Releases jobs that have not started. */
  giveBackWaiting(): void;
  /** Aborted when every job has ended or was given up. */
  over: AbortController;
};

/** For the last output and reports to the hub, once everything has ended. */
const finalCallsMs = 10_000;
/** The same after `stopNow`. */
const finalCallsInHurryMs = 2_000;

/**
 * Ends the jobs of a worker: running jobs may end by themselves for a while, then they are stopped and released, so
 * that no attempt is charged. Each step has a time limit of its own.
 */
export class Drain implements Service {
  readonly name = "drain";
  readonly #deps: DrainDeps;
  readonly #hurry = new AbortController();

  constructor(deps: DrainDeps) {
    this.#deps = deps;
  }

  /** Ends the time that jobs have to end by themselves. */
  hurry(): void {
    this.#hurry.abort();
  }

  async start(): Promise<void> {}

  /** Claims have stopped before, so no jobs are added. */
  async stop(): Promise<void> {
    const { held, settings, giveBackWaiting, over } = this.#deps;
    giveBackWaiting();
    await this.#empty(settings.drainMs);

    for (const job of held.all()) stopJob(job, "drain");
    await this.#empty(settings.stopGraceMs + finalCallsMs);

    // Either `stopNow` was called, or the time is up.
    for (const job of held.all()) job.hurry.abort();
    await this.#emptyWithin(finalCallsInHurryMs, new AbortController().signal);
    for (const job of held.all()) giveUpJob(job);
    over.abort();
  }

  #empty(ms: number): Promise<void> {
    return this.#emptyWithin(ms, this.#hurry.signal);
  }

  async #emptyWithin(ms: number, cut: AbortSignal): Promise<void> {
    if (this.#deps.held.size === 0 || cut.aborted) return;
    const enough = new AbortController();
    // A cut, or the last job's end, ends this wait.
    const time = this.#deps.clock.sleep(ms, AbortSignal.any([cut, enough.signal])).catch(() => {});
    await Promise.race([this.#deps.held.whenEmpty(), time]);
    enough.abort();
  }
}
