import { randomFillSync } from "node:crypto";
import { JsonText } from "../../contract/routes/build-request.ts";
import { jobRoutes } from "../../contract/routes/job-routes.ts";
import { batchJobsMax } from "../../contract/shapes/submit-shapes.ts";
import { atCaller } from "../../core/at-caller.ts";
import { WritError } from "../../core/errors.ts";
import { orderedUuids } from "../../core/ids.ts";
import { toJson } from "../../core/text/to-json.ts";
import { atSite, type CallSite, callSite } from "../caller-stack.ts";
import type { HubCaller } from "../hub/hub-caller.ts";
import type { Accepted, JobInput } from "../shapes.ts";
import { wireTimes } from "./job-times.ts";

// The hub accepts 8 MiB; the rest is room for brackets and commas.
const batchBytesMax = 7 * 1024 ** 2;
// Enough to keep the hub's group commit busy; more would only queue there instead of here.
const batchesInFlightMax = 4;
const batchWorthACall = 100;
// Fewer are not worth a second batch beside the first: with four, measured, a job cost the hub 1.6 times as much.
const halfJobsMin = 8;
// When a batch was refused, its jobs are sent one by one, this many at a time.
const singlesInFlightMax = 8;
// A producer that never awaits would fill the memory; this is far more than one that does needs.
const waitingBytesMax = 256 * 1024 ** 2;
// Refusals of a batch that one of its jobs may have caused.
const spoiledStatuses: readonly unknown[] = [400, 409, 413];

type QueuedJob = {
  text: string;
  bytes: number;
  /** Where it was submitted: its error is made elsewhere, for a whole batch. */
  site: CallSite;
  resolve(job: Accepted): void;
  reject(error: unknown): void;
};

/**
 * Jobs submitted in the same turn of the event loop are sent together, as one batch or two. Each caller still gets only the answer for
 * its own job: when the hub refuses the batch because of one job, each is sent alone. Why: ADR 0062, ADR 0073.
 */
export class SubmitQueue {
  readonly #hub: HubCaller;
  #waiting: QueuedJob[] = [];
  #waitingBytes = 0;
  #inFlight = 0;
  #isScheduled = false;

  constructor(hub: HubCaller) {
    this.#hub = hub;
  }

  submit(job: JobInput): Promise<Accepted> {
    const site = callSite(this.submit);
    return new Promise((resolve, reject) => {
      const text = textAt(site, job);
      const bytes = Buffer.byteLength(text);
      if (this.#waitingBytes + bytes > waitingBytesMax) {
        throw new WritError(
          "RATE_LIMITED",
          "too many jobs are waiting to be sent; await some of them before you submit more",
        );
      }
      this.#waiting.push({ text, bytes, site, resolve, reject });
      this.#waitingBytes += bytes;
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendWaiting();
    });
  }

  #sendWaiting(): void {
    while (this.#maySend()) {
      const batch = this.#takeBatch();
      this.#inFlight++;
      void this.#sendBatch(batch).finally(() => {
        this.#inFlight--;
        // Not at once: callers that were just answered may submit again in this very turn, and should share a batch.
        if (this.#waiting.length > 0) this.#schedule();
      });
    }
  }

  /**
   * Two batches are on their way at once, so that this process reads one answer while the hub works on the other batch.
   * Fewer jobs than are worth a batch wait for the one before them: sent separately, they would cost the hub twice as
   * much. A batch that is large enough for a call of its own need not wait.
   */
  #maySend(): boolean {
    const { length } = this.#waiting;
    if (this.#inFlight === 0) return length > 0;
    if (this.#inFlight === 1) return length >= halfJobsMin;
    return length >= batchWorthACall && this.#inFlight < batchesInFlightMax;
  }

  #takeBatch(): QueuedJob[] {
    const { length } = this.#waiting;
    // The first batch leaves half of a few jobs for the second.
    const isSplit = this.#inFlight === 0 && length >= 2 * halfJobsMin && length < batchWorthACall;
    const countMax = isSplit ? Math.ceil(length / 2) : batchJobsMax;
    let count = 0;
    let bytes = 0;
    for (const job of this.#waiting) {
      // A single job that is too large is still sent, because the hub's refusal explains it best.
      if (count === countMax || (count > 0 && bytes + job.bytes + 1 > batchBytesMax)) break;
      bytes += job.bytes + 1;
      count++;
    }
    const batch = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    for (const job of batch) this.#waitingBytes -= job.bytes;
    return batch;
  }

  /** Resolves or rejects every job of the batch, and never rejects itself. */
  async #sendBatch(batch: QueuedJob[]): Promise<void> {
    if (batch.length === 1) return this.#sendAlone(batch[0]!);
    try {
      const jobs = await sendJobs(
        this.#hub,
        batch.map(({ text }) => text),
      );
      for (const [index, job] of batch.entries()) job.resolve(jobs[index]!);
    } catch (error) {
      if (isSpoiled(error)) return this.#sendEachAlone(batch);
      for (const job of batch) job.reject(atSite(error, job.site));
    }
  }

  async #sendEachAlone(batch: QueuedJob[]): Promise<void> {
    const rest = batch.values();
    const lanes = Array.from({ length: singlesInFlightMax }, async () => {
      for (const job of rest) await this.#sendAlone(job);
    });
    await Promise.all(lanes);
  }

  async #sendAlone(job: QueuedJob): Promise<void> {
    try {
      const answer = await this.#hub.call(jobRoutes.submitJob, { body: new JsonText(job.text) });
      job.resolve(answer.body);
    } catch (error) {
      job.reject(atSite(error, job.site));
    }
  }
}

/** Sends jobs as one batch: all are accepted, or none. */
export async function submitBatch(hub: HubCaller, jobs: readonly JobInput[]): Promise<Accepted[]> {
  try {
    return await sendJobs(hub, jobs.map(jobText));
  } catch (error) {
    throw atCaller(error);
  }
}

async function sendJobs(hub: HubCaller, texts: readonly string[]): Promise<Accepted[]> {
  const body = new JsonText(`{"jobs":[${texts.join(",")}]}`);
  const { jobs } = (await hub.call(jobRoutes.submitJobs, { body })).body;
  if (jobs.length === texts.length) return jobs;
  throw new WritError("HTTP_ERROR", `the hub answered a batch of ${texts.length} jobs with ${jobs.length}`);
}

function textAt(site: CallSite, job: JobInput): string {
  try {
    return jobText(job);
  } catch (error) {
    throw atSite(error, site);
  }
}

/**
 * A job without a name gets an id here, so that sending it again after a broken connection is the same job and not a
 * second one.
 */
function jobText(job: JobInput): string {
  const isNamed = job.idempotency_key !== undefined || job.job_id !== undefined;
  const wire = withTimes(job);
  return toJson(isNamed ? wire : { ...wire, job_id: newJobId(Date.now()) });
}

/** Most jobs start as soon as they can. */
function withTimes(job: JobInput): object {
  if (job.run_at === undefined && job.delay === undefined) return job;
  const { run_at, delay, ...rest } = job;
  return { ...rest, ...wireTimes({ run_at, delay }) };
}

const newJobId = orderedUuids(randomBytes16);

const randomPool = Buffer.alloc(4096);
let randomUsed = randomPool.length;

/** Random bytes, drawn in larger pieces: a call for each job would take as long as everything else that is done for it. */
function randomBytes16(): Uint8Array {
  if (randomUsed === randomPool.length) {
    randomFillSync(randomPool);
    randomUsed = 0;
  }
  randomUsed += 16;
  return randomPool.subarray(randomUsed - 16, randomUsed);
}

function isSpoiled(error: unknown): boolean {
  return error instanceof WritError && spoiledStatuses.includes(error.details?.["status"]);
}
