import { expect, test } from "vitest";
import type { WorkerView } from "../../src/contract/shapes/worker-view.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { readEvents } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub } from "../support/hub.ts";
import { type HeldJob, jobReader, registerWorker, runningJob } from "../support/jobs.ts";
import { startedForAll } from "../support/use-hub.ts";

/** Time passes when a test says so, and whatever the hub does from time to time it does all the time. */
let passedMs = 0;
const clock = {
  ...systemClock,
  nowMs: () => systemClock.nowMs() + passedMs,
  monotonicMs: () => systemClock.monotonicMs() + passedMs,
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(Math.min(ms, 20), signal),
};

const leaseMs = 600_000;
const hub = startedForAll(() => startTestHub({ WRIT_LEASE_MS: String(leaseMs) }, { clock }));
const view = jobReader(hub);

async function look(workerId: string): Promise<WorkerView> {
  return (await hub.must("GET", `/workers/${workerId}`, { token: hub.admin })).json<WorkerView>();
}

/** The reaper counts no worker as silent before one lease has passed since the start. */
async function fallSilent(workerId: string): Promise<void> {
  passedMs += leaseMs;
  await eventually("the worker is inactive", async () => (await look(workerId)).status === "inactive");
}

const beat = ({ id, fence }: HeldJob) =>
  hub.call("POST", `/jobs/${id}/heartbeat`, { token: hub.admin, body: fence });

test("O-12: a worker that only renews its job stays active, and keeps the job", async () => {
  await fallSilent(await registerWorker(hub));
  const job = await runningJob(hub, { timeout_sec: 3_600 });
  const { worker_id: workerId } = job.fence;
  for (let call = 0; call < 5; call++) {
    passedMs += 100_000;
    const beforeMs = clock.nowMs() - 50_000;
    expect(await beat(job)).toMatchObject({ status: 204 });
    await eventually("it was heard", async () => (await look(workerId)).last_heartbeat > beforeMs);
  }
  expect(await look(workerId)).toMatchObject({ status: "active", current_jobs: 1 });
  expect(await view(job.id)).toMatchObject({ status: "running", attempts: 1, fail_history: [] });
  const inactive = readEvents(hub.home).filter(({ event }) => event === "WORKER_INACTIVE");
  expect(inactive.map(({ details }) => details["worker_id"])).not.toContain(workerId);
});

test("O-12: a silent worker is inactive, but its job ends with its lease and not before", async () => {
  await fallSilent(await registerWorker(hub));
  const job = await runningJob(hub, { timeout_sec: 3_600 });
  const { worker_id: workerId } = job.fence;
  passedMs += 130_000;
  await eventually("it is inactive", async () => (await look(workerId)).status === "inactive");
  expect(await view(job.id)).toMatchObject({ status: "running", attempts: 1 });
  expect(await beat(job)).toMatchObject({ status: 204 });
  await eventually("it is active", async () => (await look(workerId)).status === "active");

  passedMs += leaseMs;
  await eventually("the job is taken away", async () => (await view(job.id)).status === "pending");
  expect(await view(job.id)).toMatchObject({ fail_history: [{ code: "WORKER_DISCONNECTED" }] });
});

test("O-12: a worker that claims is active from that moment on, and one that is removed loses its job at once", async () => {
  const job = await runningJob(hub, { timeout_sec: 3_600 });
  const { worker_id: workerId } = job.fence;
  await fallSilent(workerId);
  const claim = { token: hub.admin, body: { worker_id: workerId, types: ["none"] } };
  expect(await hub.call("POST", "/jobs/claim", claim)).toMatchObject({ status: 204 });
  expect(await look(workerId)).toMatchObject({ status: "active" });

  const held = await runningJob(hub, { workerId });
  await hub.must("DELETE", `/workers/${workerId}`, { token: hub.admin });
  expect(await view(held.id)).toMatchObject({
    status: "pending",
    fail_history: [{ code: "WORKER_DISCONNECTED" }],
  });
});
