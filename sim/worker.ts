import { rmSync } from "node:fs";
import { join } from "node:path";
import { runnersOf } from "../src/runners/create-runners.ts";
import { type HandlerFunction, handlerRunner } from "../src/runners/handler.ts";
import { noFailpoint } from "../src/runtime/failpoint.ts";
import { silentLogger } from "../src/runtime/log/logger.ts";
import { openTelemetry } from "../src/runtime/telemetry/telemetry.ts";
import { plainSandbox } from "../src/sandbox/plain/plain-sandbox.ts";
import { Ledger } from "../src/worker/claims/ledger.ts";
import { LoopHeartbeat } from "../src/worker/hub/loop-heartbeat.ts";
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
    createHeartbeat: (options) => new LoopHeartbeat(options, { client, random: () => world.random.next() }),
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
