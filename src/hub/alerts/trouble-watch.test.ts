import { expect, onTestFinished, test } from "vitest";
import { stillEnv } from "../../../test/support/hub.ts";
import { registerWorker, submitJob } from "../../../test/support/jobs.ts";
import { type MemoryHub, startMemoryHub } from "../../../test/support/memory-hub.ts";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { createTroubleWatch } from "./trouble-watch.ts";

/** A hub whose watch runs by a clock of its own, and its messages, one line for each. */
async function setUp() {
  const hub = await startMemoryHub(stillEnv);
  onTestFinished(() => hub.stop());
  const hand = handClock();
  // Keys are valid by the real time.
  const clock = { ...hand, nowMs: () => Date.now() + hand.nowMs() };
  const settings = { ...hub.deps.settings, workerInactiveMs: 30_000 };
  const startWatch = async () => {
    const watch = createTroubleWatch({ ...hub.deps, settings, clock, channels: [{ name: "webhook" }] });
    await watch.start();
    onTestFinished(() => watch.stop());
    return watch;
  };
  const lines: string[] = [];
  const told = async () => {
    await hand.pass(5_000);
    for (let message = await next(hub); message !== null; message = await next(hub)) {
      const { event, state, subjects } = JSON.parse(message.data) as Record<string, string>;
      lines.push(`${event} ${state} ${subjects}`);
      await hub.store.finishMessage({ id: message.id, retryAt: null });
    }
    return lines;
  };
  return { hub, hand, told, startWatch };
}

const next = (hub: MemoryHub) => hub.store.nextMessage({ channel: "webhook" });
const polled = { interval: 5, timeout: 30_000 };

test("O-23 a worker that falls silent sends one alert, even across a restart, and one when it is back", async () => {
  const { hub, hand, told, startWatch } = await setUp();
  await registerWorker(hub, { worker_id: "long-gone" });
  await hand.pass(60_000);
  const retire = () => hub.store.retireSilentWorkers({ silentSince: Date.now() + 60_000, nowMs: Date.now() });
  await retire();
  // A worker that was silent before the first watch is not reported.
  const first = await startWatch();
  await expect
    .poll(async () => (await hub.store.getLogReader({ name: "troubles" })).memory)
    .toContain("long-gone");
  await registerWorker(hub, { worker_id: "builder" });
  await retire();
  await expect.poll(told, polled).toEqual(["WORKER_SILENT begun builder"]);
  await first.stop();
  await startWatch();
  await registerWorker(hub, { worker_id: "builder" });
  await expect.poll(told, polled).toEqual(["WORKER_SILENT begun builder", "WORKER_SILENT over builder"]);
});

test("O-23 workers that a lockdown took offline count as silent only if they do not call after it", async () => {
  const { hub, hand, told, startWatch } = await setUp();
  await registerWorker(hub, { worker_id: "builder" });
  await hub.must("POST", "/lockdown", { token: hub.admin, body: { reason: "drill" } });
  await hub.must("DELETE", "/lockdown", { token: hub.admin });
  expect(await hub.store.listWorkers()).toMatchObject([{ id: "builder", status: "inactive" }]);
  await startWatch();
  const known = async () => (await hub.store.getLogReader({ name: "troubles" })).memory;
  await expect.poll(known).not.toBe("");
  expect(await known()).not.toContain("builder");
  await hand.pass(30_000);
  await expect.poll(told, polled).toEqual(["WORKER_SILENT begun builder"]);
});

test("O-23 jobs that no worker takes send one alert for their type, and one when a worker is there", async () => {
  const { hub, told, startWatch } = await setUp();
  await startWatch();
  await registerWorker(hub, { worker_id: "other", types: ["else"] });
  await submitJob(hub, { type: "image.resize" });
  await submitJob(hub, { type: "image.resize" });
  await submitJob(hub, { type: "else" });
  const begun = "NO_WORKER begun image.resize (tenant default)";
  await expect.poll(told, polled).toEqual([begun]);
  await registerWorker(hub, { worker_id: "resizer", types: ["image.resize"] });
  await expect.poll(told, polled).toEqual([begun, "NO_WORKER over image.resize (tenant default)"]);
});
