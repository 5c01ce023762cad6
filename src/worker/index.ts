import { homedir, hostname } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import type { JobDefinition } from "../contract/define-job.ts";
import { atCaller } from "../core/at-caller.ts";
import { WritError } from "../core/errors.ts";
import { runnersOf } from "../runners/create-runners.ts";
import { type HandlerFunction, handlerRunner } from "../runners/handler.ts";
import { checkOptions, type OptionNames } from "../runtime/check-options.ts";
import { type Logger, warningLogger } from "../runtime/log/logger.ts";
import { noProcesses } from "../sandbox/no-processes.ts";
import { loadWorkerSettings } from "./settings.ts";
import { type RunningWorker, startWorker } from "./start.ts";
import { typedHandler } from "./typed-handler.ts";

export { defineJob, type JobDefinition, type StandardSchema } from "../contract/define-job.ts";
export { type ErrorCode, WritError } from "../core/errors.ts";
export { Final } from "../runners/final.ts";
export type { HandlerContext, HandlerFunction, HandlerJob } from "../runners/handler.ts";
export { RetryIn } from "../runners/retry-in.ts";

/** The hub's address and how to trust it: the same names as in the options of `Writ`. */
type HubOptions = {
  /** The hub's address, or several addresses of hubs that serve the same queue. */
  url: string | readonly string[];
  token: string;
  /** PEM of the authority that signed the hub's certificate. */
  ca?: string | undefined;
  caFile?: string | undefined;
  /** Allows plain http:// to another machine. */
  allowInsecure?: boolean | undefined;
  /** False: every call goes over HTTP, and none in frames on one upgraded connection. */
  frames?: boolean | undefined;
};

export type WorkerOptions = HubOptions & {
  /** The worker's name (default: the host's name). Two programs on one host need two ids. */
  workerId?: string | undefined;
  /** How many handlers run at once (default: 10). */
  concurrency?: number | undefined;
  tags?: readonly string[] | undefined;
  /**
   * The hub's public keys, as PEM. Without them, the keys that the hub shows at the first connection are trusted, and
   * only those, for as long as this worker runs.
   */
  signingKeys?: readonly string[] | undefined;
  /** Where the worker keeps its key and its ledger (default: `~/.writ/workers/<workerId>`). */
  dataDir?: string | undefined;
  /** Default: warnings and errors are written to stderr, one line each. */
  logger?: Logger | undefined;
};

const workerOptions: OptionNames<WorkerOptions> = {
  url: true,
  token: true,
  ca: true,
  caFile: true,
  allowInsecure: true,
  frames: true,
  workerId: true,
  concurrency: true,
  tags: true,
  signingKeys: true,
  dataDir: true,
  logger: true,
};

const concurrencyDefault = 10;

/** A worker inside your own program: its handlers are functions. */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #handlers = new Map<string, HandlerFunction>();
  #running: Promise<RunningWorker> | undefined;

  constructor(options: WorkerOptions) {
    checkOptions("Worker", options, workerOptions);
    this.#options = options;
  }

  /** Registers a function for a type of job: its return value is the result, and an error fails the attempt. */
  handle(type: string, handler: HandlerFunction): this;
  handle<In, Out, Params, Returned>(
    job: JobDefinition<In, Out, Params, Returned>,
    handler: HandlerFunction<Params, NoInfer<Returned>>,
  ): this;
  handle(job: string | JobDefinition<unknown, unknown>, handler: HandlerFunction): this {
    const type = typeof job === "string" ? job : job.type;
    if (this.#running !== undefined) throw new Error("handlers must be registered before the worker starts");
    if (this.#handlers.has(type)) throw new Error(`a handler for ${type} is already registered`);
    this.#handlers.set(type, typeof job === "string" ? handler : typedHandler(job, handler));
    return this;
  }

  /** Resolves when the worker accepts jobs, or waits for a hub that is away; rejects if the hub refuses it. */
  async start(): Promise<void> {
    if (this.#handlers.size === 0)
      throw new WritError("CONFIG_INVALID", "a worker needs at least one handler");
    if (this.#running !== undefined) throw new Error("the worker has already been started");
    this.#running = this.#begin();
    try {
      await this.#running;
    } catch (error) {
      throw atCaller(error);
    }
  }

  /**
   * Resolves when the worker has stopped. Rejects if it could not start, or if the hub has ended it: its token was revoked, or
   * another process has taken its name.
   */
  get done(): Promise<void> {
    if (this.#running === undefined) return Promise.reject(new Error("the worker has not been started"));
    return this.#running.then(({ done }) => done);
  }

  /** Lets running jobs end within 30 s, gives back the rest, and resolves when it has stopped. */
  async stop(): Promise<void> {
    await (await this.#running)?.stop();
  }

  async #begin(): Promise<RunningWorker> {
    const { url, token, workerId = hostname(), concurrency = concurrencyDefault, ...more } = this.#options;
    if (url === undefined || url.length === 0) {
      throw new WritError(
        "CONFIG_INVALID",
        "url: is missing; give the hub's address, such as http://127.0.0.1:3000",
      );
    }
    const home = more.dataDir ?? join(homedir(), ".writ", "workers", workerId);
    const settings = await loadWorkerSettings({
      env: {
        HUB_URL: typeof url === "string" ? url : url.join(","),
        WRIT_TOKEN: token,
        WRIT_CA_FILE: more.caFile,
        WRIT_ALLOW_INSECURE: String(more.allowInsecure ?? false),
        WRIT_FRAMES: String(more.frames ?? true),
        NODE_ID: workerId,
        WORKER_SLOTS: String(concurrency),
        WORKER_TAGS: JSON.stringify(more.tags ?? []),
        WORKER_TYPES: JSON.stringify([...this.#handlers.keys()]),
      },
      home,
      hostName: workerId,
    });
    const handlers = this.#handlers;
    const logger =
      more.logger ??
      warningLogger((sentence) => void process.stderr.write(`writ worker ${workerId}: ${sentence}\n`));
    const running = await startWorker({
      settings: { ...settings, ca: more.ca ?? settings.ca, signingKeys: [...(more.signingKeys ?? [])] },
      home,
      version: manifest.version,
      logger,
      handlers,
      sandbox: noProcesses,
      // A program that registers functions does not run commands of other users.
      createRunners: (deps) => runnersOf(deps, [handlerRunner(deps, deps.functions)]),
    });
    running.done.catch((error: unknown) => logger.error({ err: error }, "the worker has stopped"));
    return running;
  }
}
