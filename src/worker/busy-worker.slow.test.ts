import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../runtime/clock/clock.ts";
import { silentLogger } from "../runtime/log/logger.ts";
import { testJob, testJobId } from "./fake-hub.testing.ts";
import type { HandlerJob } from "./index.ts";
import { loadWorkerSettings } from "./settings.ts";
import { startWorker } from "./start.ts";
import { ThreadedHub } from "./threaded-hub.testing.ts";
import { endingOf, setStage, start } from "./worker-stage.testing.ts";

/**
 * A function that computes keeps its whole worker busy: only the heartbeat's thread receives the hub's messages
 * meanwhile, and jobs that were claimed ahead start as soon as the function ends.
 */
const stage = setStage();

/** A worker whose jobs were over in no time claims more than it can run. */
const quick = [1, 2, 3, 4, 5, 6, 7, 8];
const gates = [9, 10];
const [busy, waiting] = [11, 12];

/** A clock on which jobs take no time until the test starts it, even on a slow machine. */
function heldTime() {
  let beganMs: number | null = null;
  const monotonicMs = (): number => (beganMs === null ? 0 : performance.now() - beganMs);
  const begin = (): void => {
    beganMs = performance.now();
  };
  return { clock: { ...systemClock, monotonicMs }, begin };
}

test("a job that is lost while it waits behind a busy function does not start", async () => {
  const hub = await ThreadedHub.start({ jobs: [...quick, ...gates, busy, waiting], waiting });
  onTestFinished(() => hub.stop());
  const started: string[] = [];
  const ended = Promise.withResolvers<void>();
  let known: Promise<void> | undefined;
  const work = ({ id }: HandlerJob): Promise<void> | undefined => {
    started.push(id);
    // Both slots become free in the same turn, and what waits is started in one turn as well.
    known ??= hub.known();
    if (gates.map(testJobId).includes(id)) return known;
    if (id !== testJobId(busy)) return;
    hub.loseWaiting();
    setImmediate(ended.resolve);
  };
  const home = mkdtempSync(join(tmpdir(), "writ-worker-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const env = { HUB_URL: hub.url, WRIT_TOKEN: "sk_worker_x", NODE_ID: "w1", WORKER_SLOTS: "2" };
  const settings = await loadWorkerSettings({ env: { ...env, JOB_HEARTBEAT_MS: "20" }, home, hostName: "h" });
  const worker = await startWorker({
    settings: { ...settings, signingKeys: [hub.publicKeyPem] },
    home,
    version: "1",
    logger: silentLogger,
    clock: heldTime().clock,
    handlers: new Map([["work", work]]),
  });
  onTestFinished(() => worker.stopNow());
  await ended.promise;
  expect(started).toEqual([...quick, ...gates, busy].map(testJobId));
});

test("a job whose lease was not renewed while it waited does not start and is released", async () => {
  const leaseMs = 3_000;
  const { clock, begin } = heldTime();
  const started: string[] = [];
  const job = (number: number) => {
    const nowTs = Math.floor(Date.now() / 1000);
    // The same as `leaseMs`, with a second on both sides.
    const lease = { issued_at_ts: nowTs, expires_at_ts: nowTs + leaseMs / 1000 + 2 };
    return testJob(number, { kind: "handler" }, { document: { type: "work" }, lease });
  };
  const work = ({ id }: HandlerJob) => {
    started.push(id);
    // Before the heartbeat's thread knows of the waiting jobs.
    if (id !== testJobId(busy)) return;
    begin();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, leaseMs);
  };
  stage.hub.leaseMs = leaseMs;
  stage.hub.queue = quick.map(job);
  await start(stage, { handlers: { work }, env: { WORKER_SLOTS: "1" }, clock });
  await endingOf(stage, quick.at(-1)!);
  stage.hub.queue = [job(busy), job(waiting)];
  stage.hub.command("work");
  const isGivenBack = (): boolean =>
    stage.hub.pathsOf(new RegExp(`${testJobId(waiting)}/release$`)).length === 1;
  await stage.hub.until(isGivenBack);
  expect(started).toEqual([...quick, busy].map(testJobId));
});
