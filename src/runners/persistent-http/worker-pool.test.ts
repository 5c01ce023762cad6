import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../test/support/free-port.ts";
import { resolveLimits } from "../../core/limits.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import { warningLogger } from "../../runtime/log/logger.ts";
import { plainSandbox } from "../../sandbox/plain/plain-sandbox.ts";
import type { RunningProcess, Sandbox } from "../../sandbox/sandbox.ts";
import { RunningList } from "./running-list.ts";
import { WorkerPool } from "./worker-pool.ts";

/** A pool whose processes cannot be ended: they have become another user's, as after sudo. */
function stubbornPool() {
  const dir = mkdtempSync(join(tmpdir(), "writ-pool-"));
  const started: RunningProcess[] = [];
  onTestFinished(async () => {
    for (const running of started) {
      await running.killTree();
      await running.exited;
    }
    rmSync(dir, { recursive: true, force: true });
  });
  const sandbox: Sandbox = {
    ...plainSandbox,
    async start(plan) {
      const running = await plainSandbox.start(plan);
      started.push(running);
      return { ...running, killTree: () => Promise.reject(new Error("it cannot be ended")) };
    },
  };
  const warnings: string[] = [];
  const logger = warningLogger((sentence) => warnings.push(sentence));
  const pool = new WorkerPool({
    settings: { stopGraceMs: 1, outputBytesMax: 1000 } as never,
    sandbox,
    clock: systemClock,
    logger,
    workDir: dir,
    logDir: join(dir, "logs"),
    discards: { discard: async () => {} },
    newId: () => "one",
    list: new RunningList(join(dir, "logs"), logger),
  });
  return { pool, warnings, started };
}

test("an idle process that cannot be ended is reported and does not end the worker", async () => {
  const { pool, warnings, started } = stubbornPool();
  const worker = pool.take({
    tenantId: "t",
    command: ["sh", "-c", 'trap "" TERM; while :; do sleep 1; done'],
    port: await freePort(),
    secrets: {},
    masks: [],
    asked: { limits: resolveLimits({}), asked: [] },
  });
  worker.process.whenReady().catch(() => {});
  await expect.poll(() => started.length).toBe(1);
  await pool.giveBack(worker);
  pool.retire(worker);
  await expect.poll(() => warnings).toEqual(["a worker process cannot be ended (it cannot be ended)"]);
});
