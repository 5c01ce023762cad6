import { expect, onTestFinished, test } from "vitest";
import type { WorkerView } from "../../src/contract/shapes/worker-view.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { jobReader, runningJob, submitJob } from "../support/jobs.ts";

const hourMs = 3_600_000;
const quick = { WRIT_REAPER_INTERVAL_MS: "100", WRIT_BACKOFF_SCALE: "0" };

/** A hub on a machine whose clock a test can set. */
async function hubWithClock(env: Record<string, string>) {
  let setByMs = 0;
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + setByMs };
  const hub = await startTestHub({ ...quick, ...env }, { clock });
  onTestFinished(() => hub.stop());
  return { hub, set: (ms: number) => (setByMs = ms) };
}

test("A5: a clock that is set an hour ahead costs no running job an attempt", async () => {
  const { hub, set } = await hubWithClock({ WRIT_LEASE_MS: "120000", WRIT_WORKER_INACTIVE_MS: "120000" });
  const view = jobReader(hub);
  const job = await runningJob(hub, { timeout_sec: 600 });
  const waiting = await submitJob(hub, { queue_ttl_sec: 600 });
  set(hourMs);
  await eventually("the hub follows its clock", async () => {
    const { id } = await submitJob(hub);
    return (await view(id)).created_at > Date.now() + hourMs / 2;
  });
  await reaperRound(hub);
  const workers = (await hub.must("GET", "/workers", { token: hub.admin })).json<WorkerView[]>();
  expect(workers).toMatchObject([{ status: "active", current_jobs: 1 }]);
  const renewal = { token: hub.admin, body: job.fence };
  expect(await hub.call("POST", `/jobs/${job.id}/heartbeat`, renewal)).toMatchObject({ status: 204 });
  expect(await view(job.id)).toMatchObject({ status: "running", attempts: 1, fail_history: [] });
  expect(await view(waiting.id)).toMatchObject({ status: "pending" });
});

test("A5: a silent worker loses its job in time although the clock is set an hour back", async () => {
  const { hub, set } = await hubWithClock({ WRIT_LEASE_MS: "3000" });
  const view = jobReader(hub);
  const { id } = await runningJob(hub);
  set(-hourMs);
  await eventually("the job is taken from its worker", async () => (await view(id)).status === "pending");
  expect(await view(id)).toMatchObject({ fail_history: [{ code: "WORKER_DISCONNECTED", attempt: 1 }] });
});

/** Resolves when the reaper has done a whole round: it ends a job that may not wait. */
async function reaperRound(hub: TestHub): Promise<void> {
  const { id } = await submitJob(hub, { queue_ttl_sec: 1 });
  await eventually("the reaper has done a round", async () => (await jobReader(hub)(id)).status === "failed");
}
