import { rmSync } from "node:fs";
import { join } from "node:path";
import { callRoute } from "../src/contract/routes/call-route.ts";
import { workerRoutes } from "../src/contract/routes/worker-routes.ts";
import { runnersOf } from "../src/runners/create-runners.ts";
import { type HandlerFunction, handlerRunner } from "../src/runners/handler.ts";
import type { Clock } from "../src/runtime/clock/clock.ts";
import { noFailpoint } from "../src/runtime/failpoint.ts";
import type { HttpClient } from "../src/runtime/http/http-client.ts";
import { silentLogger } from "../src/runtime/log/logger.ts";
import { openTelemetry } from "../src/runtime/telemetry/telemetry.ts";
import { plainSandbox } from "../src/sandbox/plain/plain-sandbox.ts";
import type { Lease } from "../src/signing/lease.ts";
import { Ledger } from "../src/worker/claims/ledger.ts";
import type { HeartbeatOptions, WorkerHeartbeat } from "../src/worker/hub/heartbeat.ts";
import { type KeptLease, LeaseKeeper, overdueAtMs } from "../src/worker/hub/lease-keeper.ts";
import { TrustedKeys } from "../src/worker/hub/trusted-keys.ts";
import { loadWorkerSettings, type WorkerSettings } from "../src/worker/settings.ts";
import { WorkerEngine } from "../src/worker/worker-engine.ts";
import { openWorkerKey } from "../src/worker/worker-key.ts";
import type { Network } from "./network.ts";
import { settle } from "./settle.ts";
import type { Life, World } from "./world.ts";

export type SimWorker = {
  readonly life: Life;
  readonly wall: { offsetMs: number };
  crash(): void;
};

export type WorkerParts = {
  world: World;
  network: Network;
  workerId: string;
  /** Of the worker's machine; what it keeps there outlives its process. */
  dir: string;
  token: string;
  signingKeys: string[];
  wall: { offsetMs: number };
  handlers: ReadonlyMap<string, HandlerFunction>;
};

const slots = 2;
const requestTimeoutMs = 4_000;

/** Starts the real worker with functions as handlers. Only its heartbeat has no thread of its own. */
export async function startSimWorker(parts: WorkerParts): Promise<SimWorker> {
  const { world, workerId, dir, token, wall, handlers } = parts;
  const life: Life = { name: workerId, isOver: false };
  const clock = world.clockOf(life, wall);
  const client = parts.network.clientOf(life, token);
  const settings = await settingsOf(parts);
  const keys = await TrustedKeys.open({
    path: join(dir, "trusted-keys.json"),
    roots: parts.signingKeys,
    nowMs: () => clock.nowMs(),
  });
  const runnerDeps = { settings, sandbox: plainSandbox, clock, logger: silentLogger };
  const telemetry = await openTelemetry({
    endpoint: null,
    headers: null,
    resource: {},
    clock,
    logger: silentLogger,
    counts: { exported: () => {}, dropped: () => {} },
  });
  const ledger = await Ledger.open(join(dir, "ledger"), () => clock.nowMs());
  const engine = new WorkerEngine({
    settings,
    connection: { baseUrls: ["http://hub"], token },
    client,
    clock,
    logger: silentLogger,
    random: () => world.random.next(),
    version: "0.0.0-sim",
    bootId: `${workerId}-${world.random.below(2 ** 31)}`,
    failpoint: noFailpoint,
    handlers,
    sandbox: plainSandbox,
    discards: { discard: async () => {} },
    runners: runnersOf(runnerDeps, [handlerRunner(runnerDeps, handlers)]),
    ledger,
    telemetry,
    key: await openWorkerKey(dir),
    keys,
    onKeysLost: undefined,
    createHeartbeat: (options) => new SimHeartbeat(options, { client, clock, world }),
  });
  void engine.start().catch((error: unknown) => {
    if (!life.isOver) world.tell(`${workerId} could not start: ${String(error)}`);
  });
  await settle();
  return {
    life,
    wall,
    crash() {
      life.isOver = true;
      // The kernel closes the files of a process that is killed.
      void ledger.close();
    },
  };
}

/** Removes what a worker of an earlier schedule has written down on its machine; its key is the same in all of them. */
export function forgetWorker(dir: string): void {
  for (const name of ["ledger", "trusted-keys.json"]) rmSync(join(dir, name), { force: true });
}

async function settingsOf({ workerId, dir, token, signingKeys }: WorkerParts): Promise<WorkerSettings> {
  const env = {
    HUB_URL: "http://127.0.0.1:1",
    WRIT_TOKEN: token,
    NODE_ID: workerId,
    WORKER_SLOTS: String(slots),
    WORKER_CORES: "2",
    WORKER_RAM_GB: "2",
    WRIT_WORK_DIR: join(dir, "work"),
    JOB_HEARTBEAT_MS: "1000",
  };
  const settings = await loadWorkerSettings({ env, home: dir, hostName: workerId });
  return { ...settings, signingKeys, requestTimeoutMs };
}

/** The heartbeat without its thread: what the thread does, in the worker's own loop. */
class SimHeartbeat implements WorkerHeartbeat {
  readonly name = "heartbeat";
  readonly #keeper: LeaseKeeper;
  readonly #clock: Clock;
  readonly #leases = new Map<string, KeptLease>();
  #status: "active" | "draining" = "active";
  #leaseMs: number | undefined;

  constructor(
    { workerId, heartbeatMs, hubAwayMs, onMessage }: HeartbeatOptions,
    { client, clock, world }: { client: HttpClient; clock: Clock; world: World },
  ) {
    this.#clock = clock;
    this.#keeper = new LeaseKeeper({
      clock,
      random: () => world.random.next(),
      heartbeatMs,
      hubAwayMs,
      killGroup: () => {},
      tell: (message) => {
        if (message.kind === "answer") this.#noteRenewal(message.renewed, message);
        onMessage(message);
      },
      send: async (current_jobs, timeoutMs) => {
        const body = { worker_id: workerId, status: this.#status, current_jobs };
        const send = (request: Parameters<HttpClient["request"]>[0]) => client.request(request);
        const route = workerRoutes.heartbeatWorker;
        return (await callRoute((request) => send({ ...request, timeoutMs }), route, { body })).body;
      },
    });
  }

  async start(): Promise<void> {
    this.#keeper.start();
  }

  async stop(): Promise<void> {
    this.#keeper.stop();
  }

  hold(key: string, lease: Lease, onDisconnect: KeptLease["onDisconnect"]): void {
    const { job_id: jobId, attempt, token } = lease;
    const shortestMs = Math.max(1_000, (lease.expires_at_ts - lease.issued_at_ts - 2) * 1_000);
    const kept: KeptLease = {
      key,
      jobId,
      attempt,
      token,
      pid: 0,
      renewedAtMs: this.#clock.monotonicMs(),
      leaseMs: this.#leaseMs ?? shortestMs,
      onDisconnect,
    };
    this.#leases.set(key, kept);
    this.#keeper.update({ hold: [kept] });
  }

  drop(key: string): void {
    this.#leases.delete(key);
    this.#keeper.update({ drop: [key] });
  }

  setProcess(): void {}

  catchUp(): void {}

  mayStart(key: string): boolean {
    const lease = this.#leases.get(key);
    return lease !== undefined && this.#clock.monotonicMs() < overdueAtMs(lease);
  }

  setStatus(status: "active" | "draining"): void {
    this.#status = status;
    this.#keeper.hurry();
  }

  #noteRenewal(keys: string[], { leaseMs, sentAtMs }: { leaseMs: number; sentAtMs: number }): void {
    this.#leaseMs = leaseMs;
    for (const key of keys) {
      const lease = this.#leases.get(key);
      if (lease === undefined || lease.renewedAtMs > sentAtMs) continue;
      lease.renewedAtMs = sentAtMs;
      lease.leaseMs = leaseMs;
    }
  }
}
