import { homedir, hostname } from "node:os";
import { join } from "node:path";
import { WritError } from "../core/errors.ts";
import { runnersOf } from "../runners/create-runners.ts";
import { type HandlerFunction, handlerRunner } from "../runners/handler.ts";
import { type Logger, silentLogger } from "../runtime/logger.ts";
import { loadWorkerSettings } from "./settings.ts";
import { type RunningWorker, startWorker } from "./start.ts";

export type { HandlerContext, HandlerFunction, HandlerJob } from "../runners/handler.ts";

export type WorkerOptions = {
  /** The hub's address, or several of the same hub. */
  hub: string | readonly string[];
  token: string;
  /** Default: the host's name. Two programs on one host need two ids. */
  workerId?: string;
  /** How many handlers run at once. */
  concurrency?: number;
  tags?: readonly string[];
  /**
   * The hub's public keys, as PEM. Without them, the keys that the hub shows at the first connection are trusted, and
   * only those, for as long as this worker runs.
   */
  signingKeys?: readonly string[];
  /** PEM of the authority that signed the hub's certificate. */
  ca?: string;
  allowInsecure?: boolean;
  /** Where the worker keeps its key and its ledger (default: `~/.writ/workers/<workerId>`). */
  home?: string;
  logger?: Logger;
};

const concurrencyDefault = 10;
const version = "0.1.0";

/** A worker inside your own program: its handlers are functions. */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #handlers = new Map<string, HandlerFunction>();
  #running: Promise<RunningWorker> | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** Registers a function for a type of job: its return value is the result, and an error fails the attempt. */
  handle(type: string, handler: HandlerFunction): this {
    if (this.#running !== undefined) throw new Error("handlers must be registered before the worker starts");
    if (this.#handlers.has(type)) throw new Error(`a handler for ${type} is already registered`);
    this.#handlers.set(type, handler);
    return this;
  }

  /** Resolves when the worker accepts jobs, or waits for a hub that is away; rejects if the hub refuses it. */
  async start(): Promise<void> {
    if (this.#handlers.size === 0)
      throw new WritError("CONFIG_INVALID", "a worker needs at least one handler");
    if (this.#running !== undefined) throw new Error("the worker has already been started");
    this.#running = this.#begin();
    await this.#running;
  }

  /** Lets running jobs end within 30 s, gives back the rest, and resolves when it has stopped. */
  async stop(): Promise<void> {
    await (await this.#running)?.stop();
  }

  async #begin(): Promise<RunningWorker> {
    const {
      hub,
      token,
      workerId = hostname(),
      concurrency = concurrencyDefault,
      ca,
      ...more
    } = this.#options;
    const home = more.home ?? join(homedir(), ".writ", "workers", workerId);
    const settings = await loadWorkerSettings({
      env: {
        HUB_URL: typeof hub === "string" ? hub : hub.join(","),
        WRIT_TOKEN: token,
        WRIT_ALLOW_INSECURE: String(more.allowInsecure ?? false),
        NODE_ID: workerId,
        WORKER_SLOTS: String(concurrency),
        WORKER_TAGS: JSON.stringify(more.tags ?? []),
        WORKER_TYPES: JSON.stringify([...this.#handlers.keys()]),
      },
      home,
      hostName: workerId,
    });
    const handlers = this.#handlers;
    const logger = more.logger ?? silentLogger;
    return startWorker({
      settings: { ...settings, ca, signingKeys: [...(more.signingKeys ?? [])] },
      home,
      version,
      logger,
      handlers,
      // A program that registers functions has not offered to run the commands of strangers.
      createRunners: (deps) => runnersOf(deps, [handlerRunner(deps, deps.functions)]),
    });
  }
}
