import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { sandboxUnavailable } from "../core/jobs/failure.ts";
import { createRunners, type Runners, type RunnersDeps } from "../runners/create-runners.ts";
import { agentProblems } from "../runners/delegate/agent-problems.ts";
import type { HandlerFunction } from "../runners/handler.ts";
import { type Clock, systemClock } from "../runtime/clock/clock.ts";
import { type Failpoint, noFailpoint } from "../runtime/failpoint.ts";
import { makeDir } from "../runtime/files/make-dir.ts";
import { createHttpClient, type HttpClient } from "../runtime/http/http-client.ts";
import type { Logger } from "../runtime/log/logger.ts";
import { ensureHome } from "../runtime/settings/home.ts";
import { openTelemetry, type Telemetry } from "../runtime/telemetry/telemetry.ts";
import { DiscardFolder } from "../sandbox/discard-folder.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { SigningKey } from "../signing/ed25519.ts";
import type { Ledger } from "./claims/ledger.ts";
import type { HeartbeatOptions, WorkerHeartbeat } from "./hub/heartbeat.ts";
import { TrustedKeys } from "./hub/trusted-keys.ts";
import { type OpenedSandbox, openSandbox } from "./processes/open-sandbox.ts";
import { recover } from "./recover.ts";
import type { WorkerSettings } from "./settings.ts";
import { WorkerEngine } from "./worker-engine.ts";
import { openWorkerKey } from "./worker-key.ts";
import { lockWorkerDir } from "./worker-lock.ts";

export { loadWorkerSettings, type WorkerSettings } from "./settings.ts";

type StartWorkerOptions = {
  settings: WorkerSettings;
  home: string;
  version: string;
  logger: Logger;
  clock?: Clock;
  failpoint?: Failpoint;
  /** Functions of this program, by the type of job that they handle. */
  handlers?: ReadonlyMap<string, HandlerFunction>;
  sandbox?: Sandbox;
  createRunners?: (deps: RunnersDeps) => Runners;
  /** Renews leases in another way than by a thread, for tests. */
  createHeartbeat?: (options: HeartbeatOptions, client: HttpClient) => WorkerHeartbeat;
  /** Aborts the wait for another worker process in the same home. */
  signal?: AbortSignal;
  /**
   * Called when no key of the hub is trusted any more, as after an emergency rotation (default: the worker waits for
   * new keys).
   */
  onKeysLost?: (() => void) | undefined;
};

export type RunningWorker = {
  readonly workerId: string;
  /** Warnings about this host for the person who started the worker, one sentence each. */
  readonly warnings: readonly string[];
  /** Claims nothing more, lets running jobs end within the drain time, releases the rest, and deregisters. */
  stop(): Promise<void>;
  /** Stops at once: running jobs are killed and released. */
  stopNow(): Promise<void>;
  /** Resolves when the worker has stopped; rejects if it has stopped because the hub does not accept its token. */
  readonly done: Promise<void>;
};

/**
 * Starts a worker. Rejects if it cannot work here, or if the hub refuses it; a hub that is away is waited for in the
 * background.
 */
export async function startWorker(options: StartWorkerOptions): Promise<RunningWorker> {
  const { home, logger, createHeartbeat } = options;
  const clock = options.clock ?? systemClock;
  const hurry = new AbortController();
  // Before anything is locked or opened, because an address that is not allowed is refused here.
  const { connection, client } = connect(options.settings, options.version, logger);
  const resources = await openResources(options, clock, hurry.signal);
  const { settings, warnings } = withinSandbox(options, resources);
  const engine = new WorkerEngine({
    settings,
    connection,
    client,
    clock,
    logger,
    random: Math.random,
    version: options.version,
    bootId: randomUUID(),
    failpoint: options.failpoint ?? noFailpoint,
    handlers: options.handlers ?? new Map(),
    onKeysLost: options.onKeysLost,
    createHeartbeat: createHeartbeat && ((heartbeat) => createHeartbeat(heartbeat, client)),
    ...resources,
  });
  const close = async (): Promise<void> => {
    client.close();
    await resources.close();
  };
  try {
    await engine.start();
  } catch (error) {
    await close();
    throw error;
  }
  logger.info(
    {
      worker_id: settings.workerId,
      home,
      slots: settings.slots,
      hub: settings.hubUrls,
      isolation: resources.sandbox.level,
    },
    "worker started",
  );
  const over = engine.over.finally(close);
  return { workerId: settings.workerId, warnings, ...waysToEnd(engine, over, hurry) };
}

/** How a running worker is stopped and awaited. `over` settles when the engine has stopped and all is closed. */
function waysToEnd(
  engine: WorkerEngine,
  over: WorkerEngine["over"],
  hurry: AbortController,
): Pick<RunningWorker, "done" | "stop" | "stopNow"> {
  const done = over.then((refusal) => {
    if (refusal !== undefined) throw refusal;
  });
  // A caller that does not read `done` gets the error from `over` in `stop`, so it is not unhandled here.
  done.catch(() => {});
  return {
    done,
    stop: async () => {
      // `over` rejects with the same error.
      engine.stop().catch(() => {});
      await over;
    },
    stopNow: async () => {
      hurry.abort();
      // `over` rejects with the same error.
      engine.stopNow().catch(() => {});
      await over;
    },
  };
}

/** The resources of a worker on its machine. */
type WorkerResources = {
  key: SigningKey;
  keys: TrustedKeys;
  ledger: Ledger;
  telemetry: Telemetry;
  sandbox: Sandbox;
  /** Warnings about missing parts of the cage. */
  hostWarnings: string[];
  discards: DiscardFolder;
  runners: Runners;
  /** Closes in reverse order of opening: the runners' processes end before their sandbox. */
  close(): Promise<void>;
};

/** Locks the worker's directories, cleans up after an earlier process, and opens the rest. */
async function openResources(
  options: StartWorkerOptions,
  clock: Clock,
  hurry: AbortSignal,
): Promise<WorkerResources> {
  const { settings, home, logger, signal } = options;
  const dir = join(home, "worker");
  await ensureHome(home);
  for (const path of [dir, settings.workDir]) makeDir(path);
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const closeOne of closers.splice(0).reverse()) await closeOne();
  };
  try {
    // Both are locked, because two workers with their own homes may share one work directory.
    for (const path of [dir, settings.workDir]) {
      const lock = await lockWorkerDir({ clock, logger }, path, signal);
      closers.push(() => lock.release());
    }
    const telemetry = await openWorkerTelemetry(options, clock);
    closers.push(() => telemetry.stop());
    const { sandbox, warnings: hostWarnings } = await sandboxFor(options, clock);
    closers.push(() => sandbox.close());
    const discards = await DiscardFolder.open({ clock, logger }, settings.workDir);
    closers.push(() => discards.close());
    const past = { workerDir: dir, workDir: settings.workDir };
    const ledger = await recover({ ...past, sandbox, discards, clock, logger });
    closers.push(() => ledger.close());
    const key = await openWorkerKey(dir);
    const keys = await TrustedKeys.open({
      path: join(dir, "trusted-keys.json"),
      roots: settings.signingKeys,
      nowMs: () => clock.nowMs(),
    });
    const runners = (options.createRunners ?? createRunners)({
      settings,
      sandbox,
      clock,
      logger,
      functions: options.handlers ?? new Map(),
      workDir: settings.workDir,
      logDir: join(home, "logs"),
      discards,
    });
    closers.push(() => runners.close(hurry));
    await runners.open();
    return { key, keys, ledger, telemetry, sandbox, hostWarnings, discards, runners, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A worker has no metrics, so dropped spans are in its log. */
async function openWorkerTelemetry(options: StartWorkerOptions, clock: Clock): Promise<Telemetry> {
  const { settings, version, logger } = options;
  const telemetry = await openTelemetry({
    endpoint: settings.otlpEndpoint,
    headers: settings.otlpHeaders,
    resource: {
      "service.name": "writ-worker",
      "service.version": version,
      "service.instance.id": settings.workerId,
    },
    clock,
    logger,
    counts: { exported: () => {}, dropped: () => {} },
  });
  await telemetry.start();
  return telemetry;
}

async function sandboxFor(options: StartWorkerOptions, clock: Clock): Promise<OpenedSandbox> {
  const { settings, logger, handlers } = options;
  if (options.sandbox !== undefined) return { sandbox: options.sandbox, warnings: [] };
  const mayMove = handlers === undefined || handlers.size === 0;
  return openSandbox({ settings, logger, clock, mayMove, uid: process.getuid?.() ?? -1 });
}

type Start = { settings: WorkerSettings; warnings: string[] };

/** The settings that this host allows. A worker with functions of its own needs no process for most of its jobs. */
function withinSandbox(
  { settings, logger, handlers }: StartWorkerOptions,
  resources: WorkerResources,
): Start {
  const warnings = [...warningsOf(resources), ...agentWarnings(settings, resources)];
  const { processesMax = settings.slots } = resources.sandbox;
  if (settings.slots <= processesMax || (handlers?.size ?? 0) > 0) return { settings, warnings };
  const warning = `WORKER_SLOTS (execution.slots) is ${settings.slots}, but a worker runs at most ${processesMax} processes at once, so this one takes ${processesMax} jobs; start another worker for more`;
  logger.warn(warning);
  return { settings: { ...settings, slots: processesMax }, warnings: [...warnings, warning] };
}

function warningsOf({ sandbox, hostWarnings }: WorkerResources): string[] {
  const { obstacle } = sandbox;
  return obstacle === null
    ? hostWarnings
    : [`process jobs are not claimed: ${sandboxUnavailable}: ${obstacle}`];
}

function agentWarnings({ delegate }: WorkerSettings, { sandbox }: WorkerResources): string[] {
  return agentProblems(delegate?.agents ?? [], sandbox.level).map(
    ({ agent, why }) => `the agent ${agent} is not offered, because it ${why}`,
  );
}

function connect(
  { hubUrls, token, ca, allowInsecure, frames }: WorkerSettings,
  version: string,
  logger: Logger,
) {
  const userAgent = `writ-worker/${version}`;
  const connection = { baseUrls: hubUrls, token, ca, allowInsecure, frames, userAgent };
  const client = createHttpClient({
    ...connection,
    onMove: ({ to, why, isNewAddress }) =>
      logger.warn(
        { hub: to, why },
        isNewAddress
          ? `the hub has moved to ${to}; write that address into this worker's settings`
          : "a hub cannot be reached; using another",
      ),
  });
  return { connection, client };
}
