import { setTimeout as pause } from "node:timers/promises";
import { createHttpClient, type HttpClient } from "../../src/runtime/http/http-client.ts";

type Held = { id: string; fence: { attempt: number; token: string } };

const workerId = "storm";
const timeoutMs = 60_000;
const batchJobs = 1000;
/** The most that one claim gives. */
const claimJobs = 256;
const roundMs = 100;
/** A round submits, claims and finishes each of its jobs, and starts a quarter of them. */
const changesPerJob = 3.25;

/** Makes many jobs in a hub and changes them without end, as producers and a worker do, through HTTP. */
export class Storm {
  readonly #http: HttpClient;
  readonly #type: string;
  #isOver = true;
  #done: Promise<void> = Promise.resolve();
  #held: Held[] = [];
  /** How many changes the hub has acknowledged since the start. */
  changes = 0;
  /** How long each submission of one job took, in milliseconds. */
  submitMs: number[] = [];

  constructor(hub: { url: string; token: string }, type = "storm") {
    this.#http = createHttpClient({ baseUrls: [hub.url], token: hub.token });
    this.#type = type;
  }

  async open(): Promise<void> {
    await this.#post("/workers/register", {
      worker_id: workerId,
      cores: 4,
      ram_gb: 8,
      kinds: ["exec", "handler"],
    });
  }

  /** Submits so many jobs and completes all but the newest `pending`. */
  async fill(count: number, { pending = 0 } = {}): Promise<void> {
    for (let made = 0; made < count; made += batchJobs) await this.#submit(Math.min(batchJobs, count - made));
    for (let ended = 0; ended < count - pending; ) {
      const claimed = await this.#claim(Math.min(claimJobs, count - pending - ended));
      if (claimed.length === 0) throw new Error(`only ${ended} jobs of ${count} could be claimed`);
      await this.#finish(claimed);
      ended += claimed.length;
    }
  }

  /** Begins to change jobs, so many times a second if the machine can. Errors are left alone: a hub may be away. */
  start(changesPerSecond: number): void {
    this.#isOver = false;
    this.changes = 0;
    this.submitMs = [];
    this.#done = this.#run(changesPerSecond / changesPerJob);
  }

  /** Ends when the last round has been answered; what was held then is finished. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#done;
    await this.#finish(this.#held).catch(() => {});
    this.#held = [];
  }

  async close(): Promise<void> {
    await this.stop();
    this.#http.close();
  }

  /** A round that took longer is followed by a larger one, so that a busy machine changes as many jobs in fewer rounds. */
  async #run(jobsPerSecond: number): Promise<void> {
    let lastMs = performance.now();
    while (!this.#isOver) {
      await pause(Math.max(0, lastMs + roundMs - performance.now()));
      const nowMs = performance.now();
      const jobs = Math.round((jobsPerSecond * (nowMs - lastMs)) / 1000);
      lastMs = nowMs;
      await this.#round(Math.min(claimJobs, Math.max(1, jobs))).catch(() => {
        this.#held = [];
      });
    }
  }

  /** Jobs are finished one round after they were claimed, so that people see them run. */
  async #round(jobs: number): Promise<void> {
    const before = this.#held;
    this.#held = [];
    const startedMs = performance.now();
    await Promise.all([
      this.#submit(jobs - 1),
      this.#submitOne().then(() => this.submitMs.push(performance.now() - startedMs)),
      this.#finish(before),
    ]);
    this.#held = await this.#claim(jobs);
    await Promise.all(this.#held.filter((_, index) => index % 4 === 0).map((job) => this.#begin(job)));
  }

  async #submit(count: number): Promise<void> {
    if (count === 0) return;
    const jobs = Array.from({ length: count }, (_, index) => ({ ...this.#job, priority: 1 + (index % 3) }));
    await this.#post("/jobs/batch", { jobs });
    this.changes += count;
  }

  async #submitOne(): Promise<void> {
    await this.#post("/jobs", this.#job);
    this.changes += 1;
  }

  get #job() {
    return { type: this.#type, run: { kind: "exec", argv: ["true"] }, max_attempts: 1 };
  }

  async #claim(max: number): Promise<Held[]> {
    type Answer = { jobs: { id: string; lease: string }[] } | null;
    const answer = (await this.#post("/jobs/claim-batch", { worker_id: workerId, max })) as Answer;
    const claimed = (answer?.jobs ?? []).map(({ id, lease }) => {
      const { attempt, token } = JSON.parse(lease) as Held["fence"];
      return { id, fence: { attempt, token } };
    });
    this.changes += claimed.length;
    return claimed;
  }

  async #begin({ id, fence }: Held): Promise<void> {
    await this.#post(`/jobs/${id}/start`, { worker_id: workerId, ...fence });
    this.changes += 1;
  }

  /** One in ten fails. */
  async #finish(held: Held[]): Promise<void> {
    if (held.length === 0) return;
    const items = held.map(({ id, fence }, index) => ({
      job_id: id,
      ...fence,
      ...(index % 10 === 9 ? { code: "INVALID_JOB", reason: "as the test wishes" } : { result: { index } }),
    }));
    await this.#post("/jobs/results", { worker_id: workerId, items });
    this.changes += held.length;
  }

  async #post(path: string, body: unknown): Promise<unknown> {
    const { status, text } = await this.#http.request({
      method: "POST",
      path: `/api/v1${path}`,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      timeoutMs,
    });
    if (status >= 300) throw new Error(`POST ${path} was answered with ${status}: ${text()}`);
    return status === 204 ? null : JSON.parse(text());
  }
}
