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
  /** The host's name unless told. Two programs on one host need two. */
  workerId?: string;
  /** How many handlers run at once. */
  concurrency?: number;
  tags?: readonly string[];
  /**
   * The hub's public keys, as PEM. Without them those that the hub shows at the first connection are trusted, and
   * only those, for the life of this worker.
   */
  signingKeys?: readonly string[];
  /** PEM of the authority that signed the hub's certificate. */
  ca?: string;
  allowInsecure?: boolean;
  /** Where the worker keeps its key and its memory of what it has run; `~/.writ/workers/<workerId>` unless told. */
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

  /** What to do with jobs of a type: what the function returns is the result, what it throws fails the attempt. */
  handle(type: string, handler: HandlerFunction): this {
    if (this.#running !== undefined) throw new Error("handlers must be registered before the worker starts");
    if (this.#handlers.has(type)) throw new Error(`there is already a handler for ${type}`);
    this.#handlers.set(type, handler);
    return this;
  }

  /** Resolves when the worker takes jobs, or waits for a hub that is away; rejects when the hub refuses it. */
  async start(): Promise<void> {
    if (this.#handlers.size === 0)
      throw new WritError("CONFIG_INVALID", "a worker needs at least one handler");
    if (this.#running !== undefined) throw new Error("the worker has been started already");
    this.#running = this.#begin();
    await this.#running;
  }

  /** Lets what runs end within 30 s, gives back the rest, and returns when all is over. */
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
      // A program that registers functions did not offer to run the commands of strangers.
      createRunners: (deps) => runnersOf(deps, [handlerRunner(deps, deps.functions)]),
    });
  }
}
