import type { Runners } from "../runners/create-runners.ts";
import type { HandlerFunction } from "../runners/handler.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Failpoint } from "../runtime/failpoint.ts";
import type { HttpClient, HttpClientOptions } from "../runtime/http-client.ts";
import type { Logger } from "../runtime/logger.ts";
import type { RepeatedService } from "../runtime/service.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type SigningKey, signText } from "../signing/ed25519.ts";
import { receiptListText } from "../signing/receipt.ts";
import { ClaimLoop } from "./claim-loop.ts";
import { Drain } from "./drain.ts";
import { Heartbeat } from "./heartbeat.ts";
import { type HeldJob, HeldJobs } from "./held-jobs.ts";
import { createHubCalls, type HubCalls } from "./hub-calls.ts";
import { HubLink } from "./hub-link.ts";
import { HubOrders } from "./hub-orders.ts";
import { HubPresence } from "./hub-presence.ts";
import type { Ledger } from "./ledger.ts";
import { pushMetrics } from "./push-metrics.ts";
import { registrationOf } from "./registration.ts";
import { ResultReporter } from "./report-results.ts";
import { type RunDeps, receiveBatch, releaseHeld, runJob } from "./run-job.ts";
import { SandboxWatch } from "./sandbox-watch.ts";
import type { WorkerSettings } from "./settings.ts";
import { Slots } from "./slots.ts";
import type { TrustedKeys } from "./trusted-keys.ts";

type EngineParts = {
  settings: WorkerSettings;
  connection: Pick<HttpClientOptions, "baseUrls" | "token" | "ca" | "allowInsecure">;
  client: HttpClient;
  clock: Clock;
  logger: Logger;
  random: () => number;
  version: string;
  failpoint: Failpoint;
  handlers: ReadonlyMap<string, HandlerFunction>;
  sandbox: Sandbox;
  runners: Runners;
  ledger: Ledger;
  /** The worker's own key. */
  key: SigningKey;
  keys: TrustedKeys;
};

/** After trouble of its own, a worker leaves the work to others for so long. */
const troublePauseMs = 5_000;

/** The parts of a worker and how they hear of one another. What each does is told in its own file. */
export class WorkerEngine {
  readonly #parts: EngineParts;
  readonly #quit = new AbortController();
  readonly #calls: HubCalls;
  readonly #heartbeat: Heartbeat;
  readonly #held: HeldJobs;
  readonly #slots: Slots;
  readonly #claims: ClaimLoop;
  readonly #link: HubLink;
  readonly #metrics: RepeatedService;
  readonly #run: RunDeps;
  readonly #orders: HubOrders;
  readonly #drain: Drain;
  readonly #sandboxWatch: SandboxWatch;
  /** What checking claims has cost. */
  readonly #tally = { verifications: 0 };
  #isInTrouble = false;

  constructor(parts: EngineParts) {
    const { settings, client, clock, logger, random } = parts;
    this.#parts = parts;
    const presence = new HubPresence(logger, clock);
    const calls = createHubCalls(client, {
      workerId: settings.workerId,
      timeoutMs: settings.requestTimeoutMs,
    });
    const retry = { clock, random, presence };
    this.#calls = calls;
    this.#heartbeat = new Heartbeat({
      ...parts,
      workerId: settings.workerId,
      heartbeatMs: settings.heartbeatMs,
      onMessage: (message) => this.#orders.hearHeartbeat(message),
    });
    this.#held = new HeldJobs(this.#heartbeat);
    this.#link = this.#createLink(retry);
    this.#run = {
      ...parts,
      ...retry,
      calls,
      trusted: () => parts.keys.trusted(),
      tally: this.#tally,
      held: this.#held,
      heartbeat: this.#heartbeat,
      reporter: new ResultReporter(
        {
          ...retry,
          calls,
          signReceipts: (texts) => signText(parts.key, receiptListText(settings.workerId, texts)),
        },
        this.#quit.signal,
      ),
      quit: this.#quit.signal,
      onTrouble: (error) => this.#pauseForTrouble(error),
      onSandboxDown: (reason) => this.#sandboxWatch.down(reason),
    };
    this.#slots = new Slots({
      slots: settings.slots,
      mayLookAhead: parts.handlers.size > 0,
      clock,
      run: (held, free) => runJob(this.#run, held, free),
      giveBack: (jobs) => this.#giveBack(jobs, "the worker has no free slot"),
      heldCount: () => this.#held.size,
    });
    this.#claims = new ClaimLoop({
      ...retry,
      calls,
      logger,
      slots: this.#slots,
      pollIntervalMs: settings.pollIntervalMs,
      receive: async (batch) => this.#accept(await receiveBatch(this.#run, batch)),
      onUnknown: () => this.#link.renew(),
    });
    this.#orders = new HubOrders({
      logger,
      held: this.#held,
      slots: this.#slots,
      claims: this.#claims,
      link: this.#link,
      onDrain: (isTold) => this.#changeDrain(isTold),
    });
    this.#metrics = pushMetrics({
      calls,
      clock,
      intervalMs: settings.pushIntervalMs,
      workDir: settings.workDir,
      verifications: () => this.#tally.verifications,
      slots: () => ({ used: this.#slots.used, size: settings.slots }),
    });
    this.#drain = new Drain({ clock, settings, held: this.#held });
    this.#sandboxWatch = new SandboxWatch({
      clock,
      logger,
      sandbox: parts.sandbox,
      onChange: (isDown) => {
        // Functions of this program need no cage.
        this.#claims.onlyTypes = isDown ? [...parts.handlers.keys()] : undefined;
      },
    });
  }

  /** Comes when the worker has stopped. */
  get over(): Promise<void> {
    return this.#drain.over;
  }

  async start(): Promise<void> {
    await this.#sandboxWatch.start();
    await this.#link.start();
    this.#heartbeat.start();
    if (this.#parts.settings.enabled) this.#claims.start();
    await this.#metrics.start();
  }

  stop(): Promise<void> {
    return this.#drain.run({
      begin: async () => {
        this.#heartbeat.setStatus("draining");
        await this.#claims.stop();
        this.#giveBack(this.#slots.takeWaiting(), "the worker is stopping");
      },
      end: async () => {
        this.#quit.abort();
        this.#sandboxWatch.stop();
        await this.#metrics.stop();
        await this.#link.stop();
        await this.#heartbeat.stop();
        await this.#sayGoodbye();
      },
    });
  }

  stopNow(): Promise<void> {
    this.#drain.hurry();
    return this.stop();
  }

  #createLink(retry: { clock: Clock; random: () => number; presence: HubPresence }): HubLink {
    const { settings, logger, version, key, keys, runners, handlers } = this.#parts;
    return new HubLink({
      ...retry,
      calls: this.#calls,
      logger,
      keys,
      registration: registrationOf(settings, {
        version,
        publicKey: key.publicKeyPem,
        kinds: runners.kinds,
        handlerTypes: [...handlers.keys()],
      }),
      onRegistered: () => {
        this.#claims.isRegistered = true;
      },
      onStream: (isOpen) => {
        this.#claims.hasStream = isOpen;
      },
      onCommand: (command, data) => this.#orders.hearCommand(command, data),
    });
  }

  #accept(jobs: HeldJob[]): void {
    if (this.#drain.isBegun) this.#giveBack(jobs, "the worker is stopping");
    else this.#slots.add(jobs);
  }

  #giveBack(jobs: HeldJob[], reason: string): void {
    for (const held of jobs) void releaseHeld(this.#run, held, reason);
  }

  #changeDrain(isTold: boolean): void {
    // A worker that stops has given everything back, and will not take anything again.
    if (this.#drain.isBegun) return;
    this.#parts.logger.info(isTold ? "told to drain: claiming nothing more" : "the drain is over");
    if (isTold) this.#giveBack(this.#slots.takeWaiting(), "the worker drains");
    else void this.#link.refreshKeys();
    this.#applyPause();
  }

  #pauseForTrouble(error: unknown): void {
    this.#parts.logger.error(
      { err: error },
      "this worker has trouble of its own; it claims nothing for a while",
    );
    if (this.#isInTrouble) return;
    this.#isInTrouble = true;
    this.#applyPause();
    this.#parts.clock.setTimer(() => {
      this.#isInTrouble = false;
      this.#applyPause();
    }, troublePauseMs);
  }

  #applyPause(): void {
    this.#claims.isPaused = this.#orders.isToldToDrain || this.#isInTrouble;
  }

  /** A hub that cannot be told notices by itself that the worker is silent. */
  async #sayGoodbye(): Promise<void> {
    await this.#calls.removeWorker(AbortSignal.timeout(2_000)).catch(() => {});
  }
}
