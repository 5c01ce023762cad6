import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import type { Job } from "../client/shapes.ts";
import { Writ } from "../client/writ.ts";
import type { JobDefinition } from "../contract/define-job.ts";
import { invalidArgument } from "../core/errors.ts";
import { isActive } from "../core/jobs/job.ts";
import { parseUnits } from "../core/text/duration-text.ts";
import { rulesNow } from "../hub/deps.ts";
import { fireDueSchedules } from "../hub/use-cases/schedules/fire-schedules.ts";
import { runnersOf } from "../runners/create-runners.ts";
import { type HandlerFunction, handlerRunner } from "../runners/handler.ts";
import { checkOptions, type OptionNames } from "../runtime/check-options.ts";
import { systemClock } from "../runtime/clock/clock.ts";
import { silentLogger } from "../runtime/log/logger.ts";
import { noProcesses } from "../sandbox/no-processes.ts";
import { LoopHeartbeat } from "../worker/hub/loop-heartbeat.ts";
import { loadWorkerSettings, type RunningWorker, startWorker } from "../worker/start.ts";
import { typedHandler } from "../worker/typed-handler.ts";
import { expectJob, expectNoJob } from "./find-jobs.ts";
import { InlineWrit } from "./inline-writ.ts";
import { restOfJobs } from "./job-rest.ts";
import { type OpenHub, openHub } from "./open-hub.ts";
import { TestClock } from "./test-clock.ts";

export type TestHubOptions = {
  /**
   * `inline`: a job runs at once, and `submit` resolves when it has come to rest. `manual`: jobs wait until the test calls
   * `run()` (default: inline).
   */
  mode?: "inline" | "manual" | undefined;
  /** The time at which the test begins (default: the machine's). It stands still until `advance`. */
  now?: Date | number | undefined;
};

const testHubOptions: OptionNames<TestHubOptions> = { mode: true, now: true };
const modes = ["inline", "manual"];

type AdvanceOptions = {
  /** The worker renews no lease meanwhile, as if its machine had frozen. */
  isWorkerSilent?: boolean | undefined;
};

const workerId = "test-worker";
/** Enough for handlers that submit jobs and wait for them. */
const concurrency = 50;
const jobsPerTurn = 1_000;
/** A job that still runs after this long waits for something that the test does later. */
const runningMsMax = 1_000;
const renewalMsMax = 2_000;
const pollMs = 2;

/**
 * A hub and a worker inside a test: real routes, rules, signatures and database, and a clock that the test moves.
 * Why: ADR 0118.
 */
export class TestHub {
  readonly #mode: "inline" | "manual";
  readonly #clock: TestClock;
  readonly #handlers = new Map<string, HandlerFunction>();
  #hub: OpenHub | undefined;
  #writ: Writ | undefined;
  #worker: RunningWorker | undefined;

  constructor(options: TestHubOptions = {}) {
    checkOptions("TestHub", options, testHubOptions);
    const { mode = "inline", now = Date.now() } = options;
    if (!modes.includes(mode))
      throw invalidArgument({
        path: "mode",
        message: `must be inline or manual, is ${JSON.stringify(mode)}`,
      });
    const nowMs = Number(now);
    if (!Number.isFinite(nowMs))
      throw invalidArgument({ path: "now", message: "must be a Date or milliseconds since the epoch" });
    this.#mode = mode;
    this.#clock = new TestClock(nowMs);
  }

  /** Registers a function for a type of job, as a `Worker` does. */
  handle(type: string, handler: HandlerFunction): this;
  handle<In, Out, Params, Returned>(
    job: JobDefinition<In, Out, Params, Returned>,
    handler: HandlerFunction<Params, NoInfer<Returned>>,
  ): this;
  handle(job: string | JobDefinition<unknown, unknown>, handler: HandlerFunction): this {
    const type = typeof job === "string" ? job : job.type;
    if (this.#hub !== undefined) throw new Error("handlers must be registered before the hub starts");
    if (this.#handlers.has(type)) throw new Error(`a handler for ${type} is already registered`);
    this.#handlers.set(type, typeof job === "string" ? handler : typedHandler(job, handler));
    return this;
  }

  async start(): Promise<this> {
    if (this.#hub !== undefined) throw new Error("the hub has already been started");
    this.#hub = await openHub(this.#clock);
    try {
      const { url, token } = this.#hub;
      this.#writ =
        this.#mode === "manual"
          ? new Writ({ url, token })
          : new InlineWrit({ url, token }, (jobIds) => this.#rest({ types: this.#types(), jobIds }));
      if (this.#mode === "inline" && this.#handlers.size > 0) this.#worker = await this.#startWorker();
      return this;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    const [worker, hub] = [this.#worker, this.#hub];
    this.#worker = undefined;
    this.#hub = undefined;
    this.#writ?.close();
    await worker?.stopNow();
    await hub?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  get url(): string {
    return this.#opened().url;
  }

  /** The administrator's token. */
  get token(): string {
    return this.#opened().token;
  }

  /** A client of this hub. */
  get writ(): Writ {
    this.#opened();
    return this.#writ!;
  }

  /** The time of the hub, in milliseconds since the epoch. */
  get now(): number {
    return this.#clock.nowMs();
  }

  /** All jobs, or those of a type, oldest first. */
  async jobs(of?: string | JobDefinition<unknown, unknown>): Promise<Job[]> {
    const type = typeof of === "object" ? of.type : of;
    const jobs: Job[] = [];
    for await (const { id } of this.writ.list(type === undefined ? {} : { type }))
      jobs.push(await this.writ.get(id));
    return jobs.reverse();
  }

  /** The first job of a type whose params contain these; an assertion error if there is none. */
  async expectJob(of: string | JobDefinition<never, unknown>, params?: unknown): Promise<Job> {
    return expectJob(await this.jobs(), typeof of === "object" ? of.type : of, params);
  }

  async expectNoJob(of: string | JobDefinition<never, unknown>): Promise<void> {
    expectNoJob(await this.jobs(), typeof of === "object" ? of.type : of);
  }

  /**
   * Runs what can run now, also what comes of it, and returns the jobs of which it made an attempt. A job that waits for its time, or
   * for its next try, stays as it is: `advance` comes first.
   */
  async run(): Promise<Job[]> {
    const { store } = this.#opened().deps;
    const { last } = await store.eventRange();
    const own = this.#worker === undefined && this.#handlers.size > 0 ? await this.#startWorker() : null;
    try {
      await this.#rest({ types: this.#types() });
    } finally {
      await own?.stop();
    }
    const events = await store.readEvents({ afterSeq: last, limit: jobsPerTurn });
    const jobIds = new Set(
      events.flatMap(({ event, jobId }) => (event === "JOB_ASSIGNED" && jobId ? [jobId] : [])),
    );
    return Promise.all([...jobIds].map((jobId) => this.writ.get(jobId)));
  }

  /**
   * Moves the time by milliseconds or a length of time such as `"90s"`, and stops at each moment at which a job or a schedule becomes due. With
   * `inline`, it resolves when those have come to rest.
   */
  async advance(length: number | string, options: AdvanceOptions = {}): Promise<void> {
    checkOptions("advance", options, { isWorkerSilent: true });
    const { isWorkerSilent = false } = options;
    let leftMs = lengthMs(length);
    do {
      const running = new Set((await this.#running()).map(({ id }) => id));
      const stepMs = Math.min(leftMs, await this.#stepMs(running.size > 0 && !isWorkerSilent));
      this.#clock.move(stepMs);
      leftMs -= stepMs;
      await this.#settle(running, isWorkerSilent);
    } while (leftMs > 0);
  }

  /** How far the time may move until something has to happen. */
  async #stepMs(hasLeases: boolean): Promise<number> {
    const { store, settings } = this.#opened().deps;
    const { nextRunAt } = await store.promoteJobs({ nowMs: this.now, limit: jobsPerTurn });
    const { nextAt } = await store.listDueOrders({ kind: "schedule", nowMs: this.now, limit: 1 });
    const next = Math.min(nextRunAt ?? Number.POSITIVE_INFINITY, nextAt ?? Number.POSITIVE_INFINITY);
    const toNextMs = Math.max(1, next - this.now);
    // The worker renews them every third of a lease.
    return hasLeases ? Math.min(toNextMs, settings.leaseMs / 3) : toNextMs;
  }

  async #settle(running: ReadonlySet<string>, isWorkerSilent: boolean): Promise<void> {
    const { deps } = this.#opened();
    if (!isWorkerSilent) await this.#awaitRenewals();
    // Bounded: each turn ends some of the jobs that are due.
    while ((await deps.store.reapJobs({ rules: rulesNow(deps), limit: jobsPerTurn })).more);
    await deps.store.promoteJobs({ nowMs: this.now, limit: jobsPerTurn });
    // Bounded: a schedule that was looked at is due later.
    while ((await fireDueSchedules(deps)).looked > 0);
    if (this.#worker !== undefined) await this.#rest({ types: this.#types(), except: running, runningMsMax });
  }

  /** The worker's timers have fired, and its heartbeat is on its way. */
  async #awaitRenewals(): Promise<void> {
    const giveUpAtMs = systemClock.monotonicMs() + renewalMsMax;
    const { leaseMs } = this.#opened().deps.settings;
    const isLate = async (): Promise<boolean> =>
      (await this.#running()).some(({ leaseExpiresAt }) => (leaseExpiresAt ?? 0) < this.now + leaseMs / 2);
    while ((await isLate()) && systemClock.monotonicMs() < giveUpAtMs) await systemClock.sleep(pollMs);
  }

  async #running() {
    const { store } = this.#opened().deps;
    const page = await store.listJobs({ statuses: ["assigned", "running"], limit: jobsPerTurn });
    return page.jobs.map(({ job }) => job).filter(({ status }) => isActive(status));
  }

  #rest(options: Parameters<typeof restOfJobs>[1]): Promise<void> {
    return restOfJobs(this.#opened().deps, options);
  }

  #types(): ReadonlySet<string> {
    return new Set(this.#handlers.keys());
  }

  #opened(): OpenHub {
    if (this.#hub === undefined) throw new Error("the test hub is not running; call start() first");
    return this.#hub;
  }

  async #startWorker(): Promise<RunningWorker> {
    const { url, token, home, deps } = this.#opened();
    const workerHome = join(home, "test-worker");
    const settings = await loadWorkerSettings({
      env: {
        HUB_URL: url,
        WRIT_TOKEN: token,
        NODE_ID: workerId,
        WORKER_SLOTS: String(concurrency),
        WORKER_TYPES: JSON.stringify([...this.#handlers.keys()]),
      },
      home: workerHome,
      hostName: workerId,
    });
    return startWorker({
      settings: { ...settings, signingKeys: [deps.keys.signing.publicKeyPem] },
      home: workerHome,
      version: manifest.version,
      logger: silentLogger,
      clock: this.#clock,
      handlers: this.#handlers,
      sandbox: noProcesses,
      createRunners: (runnerDeps) => runnersOf(runnerDeps, [handlerRunner(runnerDeps, runnerDeps.functions)]),
      createHeartbeat: (options, client) => new LoopHeartbeat(options, { client, random: Math.random }),
    });
  }
}

function lengthMs(length: number | string): number {
  const ms = typeof length === "number" ? length : parseUnits(length);
  if (ms !== undefined && Number.isInteger(ms) && ms >= 0) return ms;
  throw invalidArgument({
    path: "length",
    message: `${JSON.stringify(length)} is not a length of time; use milliseconds, or a number with its unit such as "90s" or "1h30m"`,
  });
}
