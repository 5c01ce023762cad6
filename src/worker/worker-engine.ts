import type { WritError } from "../core/errors.ts";
import type { Runners } from "../runners/create-runners.ts";
import type { HandlerFunction } from "../runners/handler.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import type { Failpoint } from "../runtime/failpoint.ts";
import type { HttpClient, HttpClientOptions } from "../runtime/http/http-client.ts";
import type { Logger } from "../runtime/log/logger.ts";
import { type Service, startAll, stopAll } from "../runtime/service.ts";
import type { Telemetry } from "../runtime/telemetry/telemetry.ts";
import type { DiscardFolder } from "../sandbox/discard-folder.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type SigningKey, signText } from "../signing/ed25519.ts";
import { type LeaseRun, receiptListText } from "../signing/receipt.ts";
import { ResultReporter } from "./attempt/report-results.ts";
import { type RunDeps, runJob } from "./attempt/run-job.ts";
import { ClaimGate } from "./claims/claim-gate.ts";
import { ClaimLoop } from "./claims/claim-loop.ts";
import { type HeldJob, HeldJobs } from "./claims/held-jobs.ts";
import type { Ledger } from "./claims/ledger.ts";
import { receiveBatch, releaseHeld } from "./claims/receive-batch.ts";
import { Drain } from "./drain.ts";
import { Heartbeat, type HeartbeatOptions, type WorkerHeartbeat } from "./hub/heartbeat.ts";
import { createHubCalls, type HubCalls } from "./hub/hub-calls.ts";
import { HubLink } from "./hub/hub-link.ts";
import { HubOrders } from "./hub/hub-orders.ts";
import { HubPresence, type RetryDeps } from "./hub/hub-presence.ts";
import { pushMetrics } from "./hub/push-metrics.ts";
import { kindsWithoutCage, registrationOf } from "./hub/registration.ts";
import type { TrustedKeys } from "./hub/trusted-keys.ts";
import { SandboxReport } from "./processes/sandbox-report.ts";
import { SandboxWatch } from "./processes/sandbox-watch.ts";
import type { WorkerSettings } from "./settings.ts";
import { Slots } from "./slots.ts";
import { WorkLog } from "./work-log.ts";

type EngineParts = {
  settings: WorkerSettings;
  connection: Pick<HttpClientOptions, "baseUrls" | "token" | "ca" | "allowInsecure" | "frames">;
  client: HttpClient;
  clock: Clock;
  logger: Logger;
  random: () => number;
  version: string;
  /** Names this process; each process of a worker has its own. */
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

/** After a fault of its machine, a worker claims nothing for this long. */
const troublePauseMs = 5_000;

/**
 * The parts of a worker, created in the order in which they need each other. Each is explained in its own file. Only
 * messages from the hub go to a part that is created later: `orders`, which acts on all of them.
 */
export class WorkerEngine {
  readonly #parts: EngineParts;
  readonly #gate = new ClaimGate();
  readonly #heartbeat: WorkerHeartbeat;
  readonly #link: HubLink;
  readonly #sandboxReport: SandboxReport;
  readonly #run: RunDeps;
  readonly #slots: Slots;
  readonly #drain: Drain;
  readonly #services: readonly Service[];
  readonly #over = Promise.withResolvers<WritError | undefined>();
  /** Why it has stopped by itself. */
  #refusal: WritError | undefined;
  #isStopping = false;

  constructor(parts: EngineParts) {
    const { settings, clock, logger } = parts;
    const gate = this.#gate;
    this.#parts = parts;
    const hub = hubOf(parts);
    this.#heartbeat = heartbeatOf(parts, (message) => orders.hearHeartbeat(message));
    const held = new HeldJobs(this.#heartbeat);
    this.#link = new HubLink({
      ...hub,
      gate,
      keys: parts.keys,
      registration: () => registrationOf(settings, programOf(parts), gate.sandboxProblem),
      onRefused: (error) => this.#giveUp(error),
      onKeysLost: parts.onKeysLost ?? (() => {}),
      onCommand: (command, data) => orders.hearCommand(command, data),
    });
    this.#sandboxReport = new SandboxReport({
      gate,
      link: this.#link,
      functionTypes: [...parts.handlers.keys()],
      hasOtherKinds: kindsWithoutCage(settings, []).length > 0,
    });
    const onChange = (problem: string | null): void => this.#sandboxReport.change(problem);
    const sandboxWatch = new SandboxWatch({ ...parts, onChange });
    const over = new AbortController();
    this.#run = {
      ...runDepsOf(parts, hub, over.signal),
      held,
      heartbeat: this.#heartbeat,
      onTrouble: (error) => this.#pauseForTrouble(error),
      onSandboxDown: (reason) => sandboxWatch.down(reason),
    };
    this.#slots = this.#createSlots(held);
    const claims = this.#createClaims(hub);
    const giveBackWaiting = (): void => this.#giveBackWaiting("the worker is stopping");
    this.#drain = new Drain({ clock, settings, held, giveBackWaiting, over });
    const orders = new HubOrders({
      logger,
      hubAwayMs: settings.hubAwayMs,
      gate,
      held,
      slots: this.#slots,
      claims,
      link: this.#link,
      onDrain: (isTold) => this.#changeDrain(isTold),
    });
    // Everything that runs in a worker, in the order in which it starts. It stops in reverse order.
    this.#services = [
      // Whether this host can cage processes must be known before the first claim.
      sandboxWatch,
      // Registers, and deregisters after all other calls to the hub have ended.
      this.#link,
      // Renews leases until the last job has ended.
      this.#heartbeat,
      this.#createMetrics(hub),
      // Lets jobs end, after claims have stopped.
      this.#drain,
      ...(settings.enabled ? [claims] : []),
    ];
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

  #createSlots(held: HeldJobs): Slots {
    const { settings, handlers, clock } = this.#parts;
    return new Slots({
      slots: settings.slots,
      mayLookAhead: handlers.size > 0,
      clock,
      run: (job, free) => runJob(this.#run, job, free),
      giveBack: (jobs) => this.#giveBack(jobs, "the worker has no free slot"),
      heldCount: () => held.size,
    });
  }

  #createClaims(hub: HubDeps): ClaimLoop {
    return new ClaimLoop({
      ...hub,
      gate: this.#gate,
      slots: this.#slots,
      pollIntervalMs: this.#parts.settings.pollIntervalMs,
      receive: async (batch) => this.#accept(await receiveBatch(this.#run, batch)),
      onUnknown: () => this.#link.renew(),
      onReplaced: (error) => this.#giveWay(error),
    });
  }

  #createMetrics({ calls }: HubDeps): Service {
    const { settings, clock } = this.#parts;
    return pushMetrics({
      calls,
      clock,
      intervalMs: settings.pushIntervalMs,
      workDir: settings.workDir,
      verifications: () => this.#run.tally.verifications,
      slots: () => ({ used: this.#slots.used, size: settings.slots }),
    });
  }

  #accept(jobs: HeldJob[]): void {
    if (this.#isStopping) this.#giveBack(jobs, "the worker is stopping");
    else this.#slots.add(jobs);
  }

  #giveBackWaiting(reason: string): void {
    this.#giveBack(this.#slots.takeWaiting(), reason);
  }

  #giveBack(jobs: HeldJob[], reason: string): void {
    for (const held of jobs) void releaseHeld(this.#run, held, reason);
  }

  #changeDrain(isTold: boolean): void {
    // A stopping worker has released its waiting jobs, and claims nothing more.
    if (this.#isStopping) return;
    this.#parts.logger.info(isTold ? "told to drain: claiming nothing more" : "the drain is over");
    if (isTold) this.#giveBackWaiting("the worker drains");
    else {
      void this.#link.refreshKeys();
      this.#sandboxReport.send();
    }
  }

  /**
   * Stops because the hub refuses the token: jobs could not be reported, and their leases cannot be renewed. The caller
   * of `over` reports why.
   */
  #giveUp(error: WritError): void {
    this.#parts.logger.info({ err: error }, "the worker stops: the hub does not accept its token");
    this.#refusal = error;
    // `over` rejects with the same error.
    void this.stopNow().catch(() => {});
  }

  /** Another process with this name gets the jobs now: this one finishes its jobs, whose leases stay valid. */
  #giveWay(error: WritError): void {
    this.#parts.logger.info({ err: error }, "the worker stops: another process has its name");
    this.#refusal = error;
    // `over` rejects with the same error.
    void this.stop().catch(() => {});
  }

  #pauseForTrouble(error: unknown): void {
    this.#parts.logger.error(
      { err: error },
      "something is wrong on this machine; the worker claims nothing for a while",
    );
    if (this.#gate.isInTrouble) return;
    this.#gate.setInTrouble(true);
    this.#parts.clock.setTimer(() => this.#gate.setInTrouble(false), troublePauseMs);
  }
}

/** The dependencies of all parts that call the hub. */
type HubDeps = RetryDeps & { calls: HubCalls; logger: Logger };

function hubOf({ settings, client, clock, logger, random, bootId }: EngineParts): HubDeps {
  const { workerId, requestTimeoutMs: timeoutMs } = settings;
  return {
    clock,
    random,
    logger,
    presence: new HubPresence(logger, clock, () => client.moves),
    calls: createHubCalls(client, { workerId, bootId, timeoutMs }),
  };
}

function heartbeatOf(parts: EngineParts, onMessage: HeartbeatOptions["onMessage"]): WorkerHeartbeat {
  const { workerId, heartbeatMs, hubAwayMs } = parts.settings;
  const { createHeartbeat = (options) => new Heartbeat(options) } = parts;
  return createHeartbeat({ ...parts, workerId, heartbeatMs, hubAwayMs, onMessage });
}

/** The facts about this program for the registration. */
function programOf({ version, bootId, key, runners, handlers, sandbox }: EngineParts) {
  const functionTypes = [...handlers.keys()];
  return { version, bootId, publicKey: key.publicKeyPem, kinds: runners.kinds, functionTypes, sandbox };
}

function runDepsOf(parts: EngineParts, hub: HubDeps, quit: AbortSignal) {
  const { settings, key, keys, connection, clock, random } = parts;
  const signReceipts = (hashes: string[], leases: LeaseRun[] | undefined) =>
    signText(key, receiptListText(settings.workerId, hashes, leases));
  return {
    ...parts,
    ...hub,
    transfer: { ca: connection.ca, clock, random },
    trusted: () => keys.trusted(),
    tally: { verifications: 0 },
    workLog: new WorkLog(parts),
    reporter: new ResultReporter({ ...hub, signReceipts }, quit),
    quit,
  } satisfies Partial<RunDeps>;
}
