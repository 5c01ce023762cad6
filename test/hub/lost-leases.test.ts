import { expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { readEvents, snapshot } from "../support/database.ts";
import { openEventStream } from "../support/event-stream.ts";
import { eventually } from "../support/eventually.ts";
import {
  claimedJob,
  claimJob,
  type HeldJob,
  jobReader,
  registerWorker,
  runningJob,
  submitJob,
} from "../support/jobs.ts";
import { hubForAll, tokensOf } from "../support/use-hub.ts";

/** As short as it can be for tests that wait for its end, and longer than a busy machine stands still. */
const leaseMs = 3_000;

const hub = hubForAll({
  WRIT_LEASE_MS: String(leaseMs),
  WRIT_REAPER_INTERVAL_MS: "100",
  WRIT_WORKER_INACTIVE_MS: "86400000",
  WRIT_BACKOFF_SCALE: "0",
});
const tokens = tokensOf(hub);

const view = jobReader(hub);

/** Everything that a worker can say about an attempt. */
async function sayEverything({ id, fence }: HeldJob) {
  const post = (act: string, body: Record<string, unknown>) =>
    hub.call("POST", `/jobs/${id}/${act}`, { token: tokens.worker, body: { ...fence, ...body } });
  const headers = {
    "X-Worker-Id": fence.worker_id,
    "X-Job-Attempt": String(fence.attempt),
    "X-Lease-Token": fence.token,
  };
  return {
    start: await post("start", {}),
    heartbeat: await post("heartbeat", {}),
    progress: await post("progress", { progress: 1 }),
    agent: await post("agent", { calls: [{ call: 1, tool: "Read", title: "a", status: "running" }] }),
    token: await post("token", {}),
    result: await post("result", { result: "stale" }),
    fail: await post("fail", { reason: "stale" }),
    release: await post("release", {}),
    output: await hub.call("POST", `/jobs/${id}/output/stdout?offset=0`, {
      token: tokens.worker,
      headers,
      body: Buffer.from("stale"),
    }),
  };
}

async function expectNothingCounts(stale: HeldJob): Promise<void> {
  const before = snapshot(hub.home);
  for (const [act, answer] of Object.entries(await sayEverything(stale))) {
    expect(answer, act).toMatchObject({ status: 409, code: "LEASE_LOST" });
  }
  expect(snapshot(hub.home)).toBe(before);
  const { items } = (
    await hub.must("POST", "/jobs/results", {
      token: tokens.worker,
      body: {
        worker_id: stale.fence.worker_id,
        items: [{ job_id: stale.id, attempt: stale.fence.attempt, token: stale.fence.token, result: 1 }],
      },
    })
  ).json<{ items: unknown[] }>();
  expect(items).toMatchObject([{ error: { code: "LEASE_LOST" } }]);
}

/** Waits until the reaper has put the job of a silent worker back. */
function givenBack(id: string): Promise<JobView> {
  return eventually("the job is pending again", async () => {
    const job = await view(id);
    return job.status === "pending" && job;
  });
}

test("every call of a worker that returns after its lease is refused as lost while no worker has the job", async () => {
  const stale = await runningJob(hub);
  const job = await givenBack(stale.id);
  expect(job.fail_history).toMatchObject([{ code: "WORKER_DISCONNECTED", attempt: 1 }]);
  await expectNothingCounts(stale);
  const noted = readEvents(hub.home).filter(
    ({ job_id: id, event }) => id === stale.id && event === "STALE_RESULT_REJECTED",
  );
  expect(noted).toHaveLength(1);
});

test("a worker that returns is refused as lost when another has finished the job", async () => {
  const stale = await runningJob(hub);
  await givenBack(stale.id);
  const other = await claimJob(hub, { workerId: await registerWorker(hub), type: stale.type });
  const body = { ...other.fence, result: "fresh" };
  await hub.must("POST", `/jobs/${other.id}/result`, { token: tokens.worker, body });
  await expectNothingCounts(stale);
  expect(await view(stale.id)).toMatchObject({ status: "completed", result: "fresh", attempt: 2 });
});

test("a worker that returns is refused as lost even if it has claimed the same job again", async () => {
  const stale = await claimedJob(hub);
  await givenBack(stale.id);
  const again = await claimJob(hub, { workerId: stale.fence.worker_id, type: stale.type });
  const body = { ...again.fence, result: "fresh" };
  await hub.must("POST", `/jobs/${again.id}/result`, { token: tokens.worker, body });
  await expectNothingCounts(stale);
  const mixed = { ...again, fence: { ...again.fence, token: stale.fence.token } };
  await expectNothingCounts(mixed);
  const output = await hub.must("GET", `/jobs/${stale.id}/output/stdout?attempt=2`, { token: hub.admin });
  expect(output.bytes).toHaveLength(0);
});

test("a worker's heartbeat renews exactly the leases that it names, and the answer names the lost ones", async () => {
  const workerId = await registerWorker(hub);
  const commands = await openEventStream(hub, `/workers/${workerId}/commands`, { token: tokens.worker });
  const kept = await runningJob(hub, { workerId });
  const forgotten = await runningJob(hub, { workerId });
  const lease = ({ id, fence }: HeldJob) => ({ job_id: id, attempt: fence.attempt, token: fence.token });
  const beat = async (jobs: HeldJob[]) => {
    const body = { worker_id: workerId, current_jobs: jobs.map(lease) };
    const answer = await hub.must("POST", "/workers/heartbeat", { token: tokens.worker, body });
    return answer.json<{ cancel: string[]; lost: string[]; drain: boolean; lease_ms: number }>();
  };
  await eventually("the lease that was not named has run out", async () => {
    expect(await beat([kept])).toEqual({ cancel: [], lost: [], drain: false, lease_ms: leaseMs });
    return (await view(forgotten.id)).status === "pending";
  });
  expect((await view(kept.id)).status).toBe("running");
  expect((await beat([kept, forgotten])).lost).toEqual([forgotten.id]);
  const lost = await commands.until("the worker is told at once", ({ event }) => event === "lost");
  expect(lost.data).toEqual({ job_id: forgotten.id });
  await hub.must("DELETE", `/jobs/${kept.id}`, { token: hub.admin });
  expect((await beat([kept])).cancel).toEqual([kept.id]);
  commands.cut();
});

test("a heartbeat starts no job", async () => {
  const held = await claimedJob(hub);
  const current = [{ job_id: held.id, attempt: held.fence.attempt, token: held.fence.token }];
  const body = { worker_id: held.fence.worker_id, current_jobs: current };
  await hub.must("POST", "/workers/heartbeat", { token: tokens.worker, body });
  expect((await view(held.id)).started_at).toBeNull();
});

test("a job whose worker falls silent after a cancel is cancelled and not queued again", async () => {
  const { id } = await runningJob(hub);
  expect((await hub.call("DELETE", `/jobs/${id}`, { token: hub.admin })).status).toBe(202);
  const job = await eventually("it is over", async () => {
    const seen = await view(id);
    return seen.status === "failed" && seen;
  });
  expect(job).toMatchObject({ fail_code: "CANCELLED", fail_reason: "cancelled" });
});

test("a job that waits longer than its queue_ttl_sec expires", async () => {
  const { id } = await submitJob(hub, { queue_ttl_sec: 1 });
  const job = await eventually("it has expired", async () => {
    const seen = await view(id);
    return seen.status === "failed" && seen;
  });
  expect(job).toMatchObject({ fail_code: "EXPIRED", fail_reason: "EXPIRED" });
});
