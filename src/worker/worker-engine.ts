import type { WritError } from "../core/errors.ts";
import type { Runners } from "../runners/create-runners.ts";
import type { HandlerFunction } from "../runners/handler.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Failpoint } from "../runtime/failpoint.ts";
import type { HttpClient, HttpClientOptions } from "../runtime/http-client.ts";
import type { Logger } from "../runtime/logger.ts";
import { type Service, startAll, stopAll } from "../runtime/service.ts";
import type { Telemetry } from "../runtime/telemetry/telemetry.ts";
import type { DiscardFolder } from "../sandbox/discard-folder.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type SigningKey, signText } from "../signing/ed25519.ts";
import { receiptListText } from "../signing/receipt.ts";
import { ClaimLoop } from "./claim-loop.ts";
import { Drain } from "./drain.ts";
import { Heartbeat, type HeartbeatOptions, type WorkerHeartbeat } from "./heartbeat.ts";
import { type HeldJob, HeldJobs } from "./held-jobs.ts";
import { createHubCalls, type HubCalls } from "./hub-calls.ts";
import { HubLink } from "./hub-link.ts";
import { HubOrders } from "./hub-orders.ts";
import { HubPresence, type RetryDeps } from "./hub-presence.ts";
import type { Ledger } from "./ledger.ts";
import { pushMetrics } from "./push-metrics.ts";
import { kindsWithoutCage, registrationOf } from "./registration.ts";
import { ResultReporter } from "./report-results.ts";
import { type RunDeps, receiveBatch, releaseHeld, runJob } from "./run-job.ts";
import { SandboxReport } from "./sandbox-report.ts";
import { SandboxWatch } from "./sandbox-watch.ts";
import type { WorkerSettings } from "./settings.ts";
import { Slots } from "./slots.ts";
import type { TrustedKeys } from "./trusted-keys.ts";
import { WorkLog } from "./work-log.ts";

type EngineParts = {
  settings: WorkerSettings;
  connection: Pick<HttpClientOptions, "baseUrls" | "token" | "ca" | "allowInsecure">;
  client: HttpClient;
  clock: Clock;
  logger: Logger;
  random: () => number;
  version: string;
  /** Names this process; another one of the same worker has another. */
  bootId: string;
  failpoint: Failpoint;
  handlers: ReadonlyMap<string, HandlerFunction>;
  sandbox: Sandbox;
  discards: Pick<DiscardFolder, "discard">;
  runners: Runners;
  ledger: Ledger;
  telemetry: Telemetry;
  /** The worker's own key. */
  key: SigningKey;
  keys: TrustedKeys;
  onKeysLost: (() => void) | undefined;
  /** Renews leases in another way than by a thread, for simulations. */
  createHeartbeat?: ((options: HeartbeatOptions) => WorkerHeartbeat) | undefined;
};

/** After trouble of its own, a worker leaves the work to others for this long. */
const troublePauseMs = 5_000;

/** The parts of a worker and how they are connected. What each does is explained in its own file. */
export class WorkerEngine {
  readonly #parts: EngineParts;
  /** What everything that calls the hub needs. */
  readonly #hub: RetryDeps & { calls: HubCalls; logger: Logger };
  readonly #heartbeat: WorkerHeartbeat;
  readonly #held: HeldJobs;
  readonly #drain: Drain;
  readonly #link: HubLink;
  readonly #run: RunDeps;
  readonly #slots: Slots;
  readonly #claims: ClaimLoop;
  readonly #orders: HubOrders;
  readonly #sandboxReport: SandboxReport;
  readonly #sandboxWatch: SandboxWatch;
  readonly #services: readonly Service[];
  readonly #over = Promise.withResolvers<WritError | undefined>();
  /** The cost of checking claims so far. */
  readonly #tally = { verifications: 0 };
  /** Why it has stopped by itself. */
  #refusal: WritError | undefined;
  #isStopping = false;
  #isInTrouble = false;

  constructor(parts: EngineParts) {
    const { settings, client, clock, logger, random, bootId } = parts;
    const { workerId, heartbeatMs, hubAwayMs, requestTimeoutMs: timeoutMs } = settings;
    this.#parts = parts;
    const calls = createHubCalls(client, { workerId, bootId, timeoutMs });
    this.#hub = {
      clock,
      random,
      logger,
      presence: new HubPresence(logger, clock, () => client.moves),
      calls,
    };
    const { createHeartbeat = (options) => new Heartbeat(options) } = parts;
    this.#heartbeat = createHeartbeat({
      ...parts,
      workerId,
      heartbeatMs,
      hubAwayMs,
      onMessage: (message) => this.#orders.hearHeartbeat(message),
    });
    this.#held = new HeldJobs(this.#heartbeat);
    this.#drain = this.#createDrain();
    this.#link = this.#createLink();
    this.#run = this.#createRun();
    this.#slots = this.#createSlots();
    this.#claims = this.#createClaims();
    this.#orders = new HubOrders({
      logger,
      hubAwayMs,
      held: this.#held,
      slots: this.#slots,
      claims: this.#claims,
      link: this.#link,
      onDrain: (isTold) => this.#changeDrain(isTold),
    });
    this.#sandboxReport = new SandboxReport({
      link: this.#link,
      claims: this.#claims,
      functionTypes: [...parts.handlers.keys()],
      hasOtherKinds: kindsWithoutCage(parts.settings, []).length > 0,
      isToldToDrain: () => this.#orders.isToldToDrain,
    });
    const onChange = (problem: string | null) => this.#sandboxReport.change(problem);
    this.#sandboxWatch = new SandboxWatch({ ...parts, onChange });
    this.#services = this.#listServices();
  }

  /** Resolves when the worker has stopped, with the reason if it has stopped by itself. */
  get over(): Promise<WritError | undefined> {
    return this.#over.promise;
  }

  start(): Promise<void> {
    return startAll(this.#services);
  }

  /** A second call waits for the first. */
  async stop(): Promise<void> {
    if (!this.#isStopping) {
      this.#isStopping = true;
      this.#heartbeat.setStatus("draining");
      stopAll(this.#services).then(() => this.#over.resolve(this.#refusal), this.#over.reject);
    }
    await this.over;
  }

  stopNow(): Promise<void> {
    this.#drain.hurry();
    return this.stop();
  }

  /** Everything that runs in a worker, in the order in which it starts. It stops in reverse order. */
  #listServices(): Service[] {
    return [
      // Whether this host can cage processes must be known before the first claim.
      this.#sandboxWatch,
      // Registers, and deregisters when nothing else calls the hub any more.
      this.#link,
      // Renews leases until the last job has ended.
      this.#heartbeat,
      this.#createMetrics(),
      // Lets jobs end, once nothing new is claimed.
      this.#drain,
      ...(this.#parts.settings.enabled ? [this.#claims] : []),
    ];
  }

  #createDrain(): Drain {
    const { clock, settings } = this.#parts;
    const giveBackWaiting = () => this.#giveBack(this.#slots.takeWaiting(), "the worker is stopping");
    return new Drain({ clock, settings, held: this.#held, giveBackWaiting });
  }

  #createLink(): HubLink {
    const { settings, version, bootId, key, keys, runners, handlers, sandbox } = this.#parts;
    const program = {
      version,
      bootId,
      publicKey: key.publicKeyPem,
      kinds: runners.kinds,
      functionTypes: [...handlers.keys()],
      sandbox,
    };
    return new HubLink({
      ...this.#hub,
      keys,
      registration: () => registrationOf(settings, program, this.#sandboxReport.problem),
      isToldToDrain: () => this.#orders.isToldToDrain,
      onRegistered: () => {
        this.#claims.isRegistered = true;
      },
      onRefused: (error) => this.#giveUp(error),
      onKeysLost: this.#parts.onKeysLost ?? (() => {}),
      onStream: (isOpen) => {
        this.#claims.hasStream = isOpen;
      },
      onCommand: (command, data) => this.#orders.hearCommand(command, data),
    });
  }

  #createRun(): RunDeps {
    const { settings, key, keys, connection, clock, random } = this.#parts;
    const signReceipts = (hashes: string[]) => signText(key, receiptListText(settings.workerId, hashes));
    const quit = this.#drain.over;
    return {
      ...this.#parts,
      ...this.#hub,
      transfer: { ca: connection.ca, clock, random },
      trusted: () => keys.trusted(),
      tally: this.#tally,
      workLog: new WorkLog(this.#parts),
      held: this.#held,
      heartbeat: this.#heartbeat,
      reporter: new ResultReporter({ ...this.#hub, signReceipts }, quit),
      quit,
      onTrouble: (error) => this.#pauseForTrouble(error),
      onSandboxDown: (reason) => this.#sandboxWatch.down(reason),
    };
  }

  #createSlots(): Slots {
    const { settings, handlers, clock } = this.#parts;
    return new Slots({
      slots: settings.slots,
      mayLookAhead: handlers.size > 0,
      clock,
      run: (held, free) => runJob(this.#run, held, free),
      giveBack: (jobs) => this.#giveBack(jobs, "the worker has no free slot"),
      heldCount: () => this.#held.size,
    });
  }

  #createClaims(): ClaimLoop {
    return new ClaimLoop({
      ...this.#hub,
      slots: this.#slots,
      pollIntervalMs: this.#parts.settings.pollIntervalMs,
      receive: async (batch) => this.#accept(await receiveBatch(this.#run, batch)),
      onUnknown: () => this.#link.renew(),
    });
  }

  #createMetrics(): Service {
    const { settings, clock } = this.#parts;
    return pushMetrics({
      calls: this.#hub.calls,
      clock,
      intervalMs: settings.pushIntervalMs,
      workDir: settings.workDir,
      verifications: () => this.#tally.verifications,
      slots: () => ({ used: this.#slots.used, size: settings.slots }),
    });
  }

  #accept(jobs: HeldJob[]): void {
    if (this.#isStopping) this.#giveBack(jobs, "the worker is stopping");
    else this.#slots.add(jobs);
  }

  #giveBack(jobs: HeldJob[], reason: string): void {
    for (const held of jobs) void releaseHeld(this.#run, held, reason);
  }

  #changeDrain(isTold: boolean): void {
    // A worker that stops has given everything back, and will take nothing again.
    if (this.#isStopping) return;
    this.#parts.logger.info(isTold ? "told to drain: claiming nothing more" : "the drain is over");
    if (isTold) this.#giveBack(this.#slots.takeWaiting(), "the worker drains");
    else {
      void this.#link.refreshKeys();
      this.#sandboxReport.send();
    }
    this.#applyPause();
  }

  /** Nothing that its jobs do could be reported, and their leases cannot be renewed. Whoever started it reports why. */
  #giveUp(error: WritError): void {
    this.#parts.logger.info({ err: error }, "the worker stops: the hub does not accept its token");
    this.#refusal = error;
    void this.stopNow().catch(() => {});
  }

  #pauseForTrouble(error: unknown): void {
    this.#parts.logger.error(
      { err: error },
      "something is wrong on this machine; the worker claims nothing for a while",
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
}
