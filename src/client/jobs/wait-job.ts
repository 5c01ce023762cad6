import { jobRoutes } from "../../contract/routes/job-routes.ts";
import type { JobView } from "../../contract/shapes/view-shapes.ts";
import { atCaller } from "../../core/at-caller.ts";
import { invalidArgument, WritError } from "../../core/errors.ts";
import { isEnded } from "../../core/jobs/job.ts";
import type { OptionNames } from "../../runtime/check-options.ts";
import { backOffMs } from "../../runtime/clock/back-off.ts";
import { Turns } from "../../runtime/clock/turns.ts";
import { WakeUp } from "../../runtime/clock/wake-up.ts";
import { openDeadline } from "../deadline.ts";
import type { HubCaller } from "../hub/hub-caller.ts";
import { Pace } from "../hub/pace.ts";
import type { JobEvent } from "../shapes.ts";
import { EndFeed } from "./end-feed.ts";

export type WaitOptions = {
  signal?: AbortSignal | undefined;
  /** How long to wait (default: a day). After it the wait is rejected with TIMED_OUT; the job continues. */
  timeoutMs?: number | undefined;
  /** Called with the job's live events while it waits. */
  onEvent?: ((event: JobEvent) => void) | undefined;
  /** Called before it asks again because the hub could not be reached. */
  onTrouble?: ((error: unknown) => void) | undefined;
};

/** The names of `WaitOptions`. */
export const waitOptions: OptionNames<WaitOptions> = {
  signal: true,
  timeoutMs: true,
  onEvent: true,
  onTrouble: true,
};

/** By default until the job has ended. */
type WaitCondition = {
  isDone?: (job: JobView) => boolean;
  /** It was accepted just now and has hardly ended yet: it is not read before its events are followed. */
  isNew?: boolean;
};

const waitMsMax = 86_400_000;
// A few waits have a stream each, which carries only their job; many share one that carries all.
const ownFeedsMax = 8;
// How many of many waits read their jobs at once. With all of them the program could not keep up with the answers.
const readsMax = 64;
// Events say when to look; this look is for an event that never arrives, on a connection that only seems alive.
const livePollMs = 60_000;
const pollPause = { firstMs: 250, maxMs: 5_000 };

/** Waits for jobs to end. It subscribes first and then reads the job, so an end in between is never missed. */
export class JobWaits {
  readonly #hub: HubCaller;
  readonly #shared: EndFeed;
  readonly #reads = new Turns(readsMax);
  #ownFeeds = 0;

  constructor(hub: HubCaller) {
    this.#hub = hub;
    this.#shared = new EndFeed(hub);
  }

  async wait(
    jobId: string,
    { signal, timeoutMs = waitMsMax, ...told }: WaitOptions & WaitCondition,
  ): Promise<JobView> {
    refuseWrongTime(timeoutMs);
    const deadline = openDeadline(this.#hub.clock, {
      signal,
      timeout: { ms: timeoutMs, error: () => timedOut(jobId, timeoutMs) },
    });
    const isOwn = this.#ownFeeds < ownFeedsMax;
    if (isOwn) this.#ownFeeds++;
    const { isNew = false, ...rest } = told;
    const { signal: over } = deadline;
    const read = () => this.#reads.take(() => readJob(this.#hub, jobId, over));
    const waiting = { ...rest, signal: over, read };
    try {
      // A job that has ended costs this one call. The stream of many waits is open already, or opened once for them.
      const job = isOwn && !isNew ? await readIfDone(waiting) : null;
      const feed = isOwn ? new EndFeed(this.#hub, jobId) : this.#shared;
      return job ?? (await waitOnFeed(this.#hub, jobId, { ...waiting, feed }));
    } catch (error) {
      throw atCaller(error);
    } finally {
      if (isOwn) this.#ownFeeds--;
      deadline.release();
    }
  }
}

/** The time limit, in a sentence with its unit. */
function refuseWrongTime(timeoutMs: unknown): void {
  if (typeof timeoutMs === "number" && timeoutMs >= 0) return;
  const found = typeof timeoutMs === "number" ? String(timeoutMs) : JSON.stringify(timeoutMs);
  throw invalidArgument({ path: "timeoutMs", message: `${found} is not a number of milliseconds` });
}

function timedOut(jobId: string, timeoutMs: number): WritError {
  const message = `job ${jobId} has not ended within ${timeoutMs} ms; it continues`;
  return new WritError("TIMED_OUT", message, { job_id: jobId });
}

function hasEnded({ status }: JobView): boolean {
  return isEnded(status);
}

async function readJob(hub: HubCaller, jobId: string, signal: AbortSignal): Promise<JobView> {
  signal.throwIfAborted();
  return (await hub.call(jobRoutes.getJob, { params: { id: jobId } }, { signal })).body;
}

type JobWait = Omit<WaitOptions, "timeoutMs"> &
  WaitCondition & { signal: AbortSignal; read(): Promise<JobView> };

/** The job if it is as the caller wants it; null if it has to be waited for. */
async function readIfDone({
  read,
  isDone = hasEnded,
}: Pick<JobWait, "read" | "isDone">): Promise<JobView | null> {
  const job = await read();
  return isDone(job) ? job : null;
}

async function waitOnFeed(
  hub: HubCaller,
  jobId: string,
  { feed, signal, read, onEvent, onTrouble, isDone = hasEnded }: JobWait & { feed: EndFeed },
): Promise<JobView> {
  const { clock, random } = hub;
  const wakeUp = new WakeUp();
  const pace = new Pace(hub);
  let polls = 0;
  const unsubscribe = feed.subscribe(jobId, { wake: wakeUp.wake, onEvent });
  try {
    for (;;) {
      const ms = feed.isLive ? livePollMs : backOffMs(polls++, { ...pollPause, random });
      await wakeUp.wait({ signal, timeout: { clock, ms } });
      signal.throwIfAborted();
      try {
        const job = await read();
        pace.answered();
        if (isDone(job)) return job;
      } catch (error) {
        onTrouble?.(error);
        await pace.pauseAfter(error, signal);
      }
    }
  } finally {
    unsubscribe();
  }
}
