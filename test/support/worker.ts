import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Runners, RunnersDeps } from "../../src/runners/create-runners.ts";
import type { Clock } from "../../src/runtime/clock/clock.ts";
import type { Failpoint } from "../../src/runtime/failpoint.ts";
import { type Logger, silentLogger } from "../../src/runtime/log/logger.ts";
import { plainSandbox } from "../../src/sandbox/plain/plain-sandbox.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { loadSigningKey, type SigningKey } from "../../src/signing/ed25519.ts";
import { loadWorkerSettings, type WorkerSettings } from "../../src/worker/settings.ts";
import { startWorker } from "../../src/worker/start.ts";
import type { TestHub } from "./hub.ts";
import { freshName } from "./jobs.ts";

export type TestWorker = {
  workerId: string;
  home: string;
  stop(options?: { keepHome?: boolean }): Promise<void>;
};

type Wish = {
  /** Another address than the hub's own. */
  url?: string;
  workerId?: string;
  home?: string;
  types?: string[];
  signingKeys?: string[];
  clock?: Clock;
  slots?: number;
  logger?: Logger;
  failpoint?: Failpoint;
  createRunners?: (deps: RunnersDeps) => Runners;
  sandbox?: Sandbox;
  env?: Record<string, string>;
  /** Replaces settings that only a file can give. */
  settings?: Partial<WorkerSettings>;
};

/** What a worker, or somebody who looks at the hub's keys, needs to know of a hub. */
type Hub = Pick<TestHub, "url" | "home" | "admin">;

/**
 * A real worker in this process. It trusts the hub's active key by default, and runs without a cage: its jobs leave
 * marks on the host, by which a test sees that something was, or was not, executed.
 */
export async function startTestWorker(hub: Hub, wish: Wish = {}): Promise<TestWorker> {
  const { workerId = freshName("real"), url = hub.url, slots = 4 } = wish;
  const home = wish.home ?? mkdtempSync(join(tmpdir(), "writ-trust-worker-"));
  const settings = await loadWorkerSettings({
    env: {
      HUB_URL: url,
      WRIT_TOKEN: hub.admin,
      NODE_ID: workerId,
      WORKER_SLOTS: String(slots),
      WORKER_TYPES: JSON.stringify(wish.types ?? []),
      JOB_POLL_INTERVAL_MS: "50",
      PUSH_INTERVAL_MS: "100",
      ...wish.env,
    },
    home,
    hostName: "test",
  });
  const worker = await startWorker({
    settings: {
      ...settings,
      signingKeys: wish.signingKeys ?? [activeKey(hub).publicKeyPem],
      ...wish.settings,
    },
    home,
    version: "0.0.0-test",
    logger: wish.logger ?? silentLogger,
    clock: wish.clock,
    failpoint: wish.failpoint,
    createRunners: wish.createRunners,
    sandbox: wish.sandbox ?? plainSandbox,
  });
  return {
    workerId,
    home,
    async stop({ keepHome = false } = {}) {
      await worker.stopNow();
      if (!keepHome) rmSync(home, { recursive: true, force: true });
    },
  };
}

type Ring = { version: number; keys: { key_id: string; public_key: string; status: string }[] };

export function readRingFile(hub: Pick<Hub, "home">): Ring {
  return JSON.parse(readFileSync(join(hub.home, "keys", "ring.json"), "utf8")) as Ring;
}

/** The hub's own key, as somebody with its home would hold it. */
export function activeKey(hub: Pick<Hub, "home">): SigningKey {
  const active = readRingFile(hub).keys.find(({ status }) => status === "active")!;
  return keyNamed(hub, active.key_id);
}

export function keyNamed(hub: Pick<Hub, "home">, keyId: string): SigningKey {
  const dir = join(hub.home, "keys");
  const file = readdirSync(dir).find((name) => name === `signing-${keyId}.pem`)!;
  return loadSigningKey(readFileSync(join(dir, file), "utf8"));
}
