import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { Runners, RunnersDeps } from "../runners/create-runners.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import type { Failpoint } from "../runtime/failpoint.ts";
import { type Logger, silentLogger } from "../runtime/log/logger.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type Ending, FakeHub, type TestJob, testJob, testJobId } from "./fake-hub.testing.ts";
import type { HandlerFunction } from "./index.ts";
import { loadWorkerSettings } from "./settings.ts";
import { type RunningWorker, startWorker } from "./start.ts";

export type Start = {
  handlers?: Record<string, HandlerFunction>;
  env?: Record<string, string>;
  signingKeys?: string[];
  /** The sandbox (default: the one that this host supports). */
  sandbox?: Sandbox;
  createRunners?: (deps: RunnersDeps) => Runners;
  logger?: Logger;
  clock?: Clock;
  failpoint?: Failpoint;
};

/** The setting of a test of a whole worker: a hub, a home, and at most one worker, created for each test. */
export type Stage = { hub: FakeHub; home: string; worker: RunningWorker | undefined };

export function setStage(): Stage {
  const stage = {} as Stage;
  beforeEach(async () => {
    stage.home = mkdtempSync(join(tmpdir(), "writ-worker-"));
    stage.hub = new FakeHub();
    stage.worker = undefined;
    await stage.hub.start();
  });
  afterEach(async () => {
    await stage.worker?.stopNow();
    await stage.hub.stop();
    rmSync(stage.home, { recursive: true, force: true });
  });
  return stage;
}

export async function start(
  stage: Stage,
  { handlers = {}, env = {}, signingKeys, ...more }: Start = {},
): Promise<RunningWorker> {
  const { hub, home } = stage;
  const settings = await loadWorkerSettings({
    env: { HUB_URL: hub.url, WRIT_TOKEN: "sk_worker_x", NODE_ID: "w1", WORKER_SLOTS: "2", ...env },
    home,
    hostName: "host",
  });
  stage.worker = await startWorker({
    settings: { ...settings, signingKeys: signingKeys ?? [hub.key.publicKeyPem] },
    home,
    version: "1",
    logger: silentLogger,
    handlers: new Map(Object.entries(handlers)),
    ...more,
  });
  return stage.worker;
}

export function exec(number: number, argv: string[], changes: Parameters<typeof testJob>[2] = {}): TestJob {
  return testJob(number, { kind: "exec", argv }, changes);
}

export async function endingOf({ hub }: Stage, number: number): Promise<Ending> {
  const find = () => hub.endings.find(({ job_id }) => job_id === testJobId(number));
  await hub.until(() => find() !== undefined);
  return find()!;
}

export function output({ hub }: Stage, number: number, stream = "stdout"): string {
  return String(hub.outputs.get(`${testJobId(number)}/output/${stream}`) ?? "");
}
