import { expect, onTestFinished, test } from "vitest";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import type { SignOfLife } from "../../store/worker-store.ts";
import { silentFailures as failures } from "../failure-log.testing.ts";
import { SignsOfLife } from "./signs-of-life.ts";

const inactiveMs = 120_000;

/** A worker that calls, and the writes that follow. The test can make the store refuse. */
async function callingWorker() {
  const clock = handClock();
  const written: SignOfLife[][] = [];
  const worker = { id: "w1", lastHeartbeat: 0 };
  const trouble = { isRefused: false };
  const store = {
    async noteSignsOfLife({ signs }: { signs: SignOfLife[] }) {
      if (trouble.isRefused) throw new Error("the store is away");
      written.push(signs);
      worker.lastHeartbeat = Math.max(worker.lastHeartbeat, signs[0]!.atMs);
    },
  };
  const workers = { forget: () => {} };
  const settings = { workerInactiveMs: inactiveMs };
  const signs = new SignsOfLife({ store, workers, settings, clock, failures });
  await signs.start();
  onTestFinished(() => signs.stop());
  return { clock, written, worker, signs, trouble };
}

test("O-12: the calls of a worker cost one write in a quarter of the time after which it is inactive", async () => {
  const { clock, written, worker, signs } = await callingWorker();
  for (let second = 0; second < 300; second++) {
    for (let call = 0; call < 5; call++) signs.note(worker);
    await clock.pass(1_000);
  }
  expect(written.length).toBeGreaterThan(8);
  expect(written.length).toBeLessThanOrEqual(10);
});

test("O-12: the last call before a silence is known before the worker could count as inactive", async () => {
  const { clock, written, worker, signs } = await callingWorker();
  await clock.pass(40_000);
  signs.note(worker);
  await clock.pass(10_000);
  signs.note(worker);
  await clock.pass(inactiveMs - 10_000);
  expect(written).toEqual([[{ workerId: "w1", atMs: 40_000 }], [{ workerId: "w1", atMs: 50_000 }]]);
});

test("O-12: a worker whose heartbeats are stored costs nothing more", async () => {
  const { clock, written, worker, signs } = await callingWorker();
  for (let second = 0; second < 300; second += 10) {
    worker.lastHeartbeat = clock.nowMs();
    signs.forget("w1");
    for (let call = 0; call < 5; call++) signs.note(worker);
    await clock.pass(10_000);
  }
  expect(written).toEqual([]);
});

test("O-12: a sign that the store refuses is written later, with the time of the call", async () => {
  const { clock, written, worker, signs, trouble } = await callingWorker();
  await clock.pass(40_000);
  trouble.isRefused = true;
  await signs.activate(worker);
  await clock.pass(5_000);
  trouble.isRefused = false;
  await clock.pass(5_000);
  expect(written).toEqual([[{ workerId: "w1", atMs: 40_000 }]]);
});

test("O-12: signs that are not written yet are written when the hub stops", async () => {
  const { clock, written, worker, signs } = await callingWorker();
  await clock.pass(7_000);
  signs.note(worker);
  await signs.stop();
  expect(written).toEqual([[{ workerId: "w1", atMs: 7_000 }]]);
});
