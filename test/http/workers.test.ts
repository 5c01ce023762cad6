import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import type { WorkerView } from "../../src/contract/shapes/worker-view.ts";
import { readEvents, snapshot } from "../support/database.ts";
import { openEventStream } from "../support/event-stream.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import {
  completedJob,
  failedJob,
  freshName,
  type HeldJob,
  registerWorker,
  runningJob,
  submitJob,
} from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

async function worker(id: string, token = tokens.viewer): Promise<WorkerView> {
  return (await hub.must("GET", `/workers/${id}`, { token })).json<WorkerView>();
}

function claim(workerId: string, type: string) {
  const body = { worker_id: workerId, types: [type] };
  return hub.call("POST", "/jobs/claim", { token: tokens.worker, body });
}

function beat(workerId: string, jobs: HeldJob[] = []) {
  const leases = jobs.map(({ id, fence }) => ({ job_id: id, attempt: fence.attempt, token: fence.token }));
  const body = { worker_id: workerId, current_jobs: leases };
  return hub.call("POST", "/workers/heartbeat", { token: tokens.worker, body });
}

const change = (workerId: string, what: string) =>
  hub.must("POST", `/workers/${workerId}/${what}`, { token: hub.admin });

test("A18: a heartbeat may name as many leases as its shape allows", async () => {
  const lease = { job_id: crypto.randomUUID(), attempt: Number.MAX_SAFE_INTEGER, token: "t".repeat(128) };
  const body = { worker_id: await registerWorker(hub), current_jobs: Array(10_000).fill(lease) };
  const answer = await hub.call("POST", "/workers/heartbeat", { token: hub.admin, body });
  expect(answer).toMatchObject({ status: 200 });
  expect(answer.json<{ lost: string[] }>().lost).toContain(lease.job_id);
});

test("a worker is shown as it registered, with what it does", async () => {
  const facts = {
    name: "big",
    cores: 16,
    ram_gb: 64.5,
    tags: ["gpu"],
    types: ["exec"],
    slots: 3,
    version: "1.2",
  };
  const id = await registerWorker(hub, { ...facts, capabilities: [{ provider: "OLLAMA", model: "m" }] });
  await completedJob(hub, { workerId: id });
  await failedJob(hub, { workerId: id });
  await runningJob(hub, { workerId: id });
  expect(await worker(id)).toMatchObject({
    ...facts,
    id,
    location: "LOCAL_MACHINE",
    status: "active",
    capabilities: [{ provider: "OLLAMA", model: "m" }],
    current_jobs: 1,
    job_counts: { completed: 1, failed: 1 },
    metrics: [],
  });
});

test("a worker keeps its key until an administrator removes it", async () => {
  const pem = () =>
    generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }) as string;
  const first = pem();
  const id = await registerWorker(hub, { public_key: first });
  const register = (key: string) =>
    hub.call("POST", "/workers/register", {
      token: tokens.worker,
      body: { worker_id: id, cores: 1, ram_gb: 1, tags: [], public_key: key },
    });
  const before = snapshot(hub.home);
  expect(await register(pem())).toMatchObject({ status: 409, code: "WORKER_KEY_CONFLICT" });
  expect(await register("not a key")).toMatchObject({ status: 400, code: "KEY_REJECTED" });
  expect(snapshot(hub.home)).toBe(before);
  expect((await register(first)).status).toBe(204);
  await hub.must("DELETE", `/workers/${id}`, { token: hub.admin });
  expect((await register(pem())).status).toBe(204);
});

test("of two processes with one worker id, the one that registered last is given jobs", async () => {
  const id = await registerWorker(hub, { boot_id: "first" });
  const claimAs = (bootId: string, waitMs = 0) =>
    hub.call("POST", "/jobs/claim", {
      token: tokens.worker,
      body: { worker_id: id, types: [type], boot_id: bootId, wait_ms: waitMs },
    });
  const leave = (query = "", token = tokens.worker) =>
    hub.call("DELETE", `/workers/${id}${query}`, { token });
  const { type } = await submitJob(hub);
  const held = (await claimAs("first")).json<{ id: string; attempt: number; token: string }>();
  const parked = claimAs("first", 60_000);
  await registerWorker(hub, { worker_id: id, boot_id: "second" });
  // It may have been parked before the other registered, or have come after that.
  expect([204, 409]).toContain((await parked).status);
  const refused = await claimAs("first");
  expect(refused).toMatchObject({ status: 409, code: "WORKER_REPLACED" });
  expect(refused.text).toContain("give one of them another worker id");
  expect(await leave("?boot_id=first")).toMatchObject({ status: 409, code: "WORKER_REPLACED" });
  const fence = { worker_id: id, attempt: held.attempt, token: held.token };
  const ended = await hub.call("POST", `/jobs/${held.id}/result`, {
    token: tokens.worker,
    body: { ...fence, result: 1 },
  });
  expect(ended.status).toBe(200);
  const goodbye = { worker_id: id, boot_id: "first", status: "draining", current_jobs: [] };
  const beaten = await hub.must("POST", "/workers/heartbeat", { token: tokens.worker, body: goodbye });
  expect(beaten.json()).toMatchObject({ drain: false });
  expect((await claimAs("second")).status).toBe(204);
  expect((await leave("?boot_id=second")).status).toBe(204);
});

test("a worker that does not name its process claims and leaves as before", async () => {
  const id = await registerWorker(hub, { boot_id: "first" });
  expect((await claim(id, freshName("none"))).status).toBe(204);
  expect((await hub.call("DELETE", `/workers/${id}`, { token: tokens.worker })).status).toBe(204);
});

test("a worker that says in its heartbeat that it drains is given nothing more", async () => {
  const workerId = await registerWorker(hub);
  const heartbeat = { worker_id: workerId, status: "draining", current_jobs: [] };
  const answer = await hub.must("POST", "/workers/heartbeat", { token: hub.admin, body: heartbeat });
  expect(answer.json()).toMatchObject({ drain: true });
  const { type } = await submitJob(hub);
  const claim = { worker_id: workerId, types: [type] };
  expect((await hub.call("POST", "/jobs/claim", { token: hub.admin, body: claim })).status).toBe(204);
});

test("a draining worker finishes what it has and claims nothing more, until it is lifted or registers again", async () => {
  const held = await runningJob(hub);
  const id = held.fence.worker_id;
  const commands = await openEventStream(hub, `/workers/${id}/commands`, { token: tokens.worker });
  const { type } = await submitJob(hub);
  expect((await change(id, "drain")).json()).toMatchObject({ status: "draining" });
  await commands.until("the worker is told", ({ event }) => event === "drain");
  commands.cut();
  expect((await claim(id, type)).status).toBe(204);
  expect((await beat(id)).json()).toMatchObject({ drain: true });
  const body = { ...held.fence, result: 1 };
  expect((await hub.call("POST", `/jobs/${held.id}/result`, { token: tokens.worker, body })).status).toBe(
    200,
  );
  expect((await change(id, "unblock")).json()).toMatchObject({ status: "active" });
  expect((await claim(id, type)).status).toBe(200);
});

test("C6: undrain ends a drain and leaves a block", async () => {
  const id = await registerWorker(hub);
  await change(id, "drain");
  await change(id, "block");
  expect((await change(id, "undrain")).json()).toMatchObject({ status: "blocked" });
  expect((await change(id, "unblock")).json()).toMatchObject({ status: "active" });
  const told = readEvents(hub.home)
    .filter(({ details }) => details["worker_id"] === id)
    .map(({ event }) => event);
  expect(told.slice(-4)).toEqual([
    "WORKER_DRAINED",
    "WORKER_BLOCKED",
    "WORKER_UNDRAINED",
    "WORKER_UNBLOCKED",
  ]);
});

test("a blocked worker is refused, also when it registers again, until an administrator lifts it", async () => {
  const held = await runningJob(hub);
  const id = held.fence.worker_id;
  await change(id, "block");
  const before = snapshot(hub.home);
  expect(await claim(id, freshName("any"))).toMatchObject({ status: 403, code: "WORKER_BLOCKED" });
  for (const [act, fields] of [
    ["start", {}],
    ["result", { result: 1 }],
    ["fail", { reason: "r" }],
  ] as const) {
    const body = { ...held.fence, ...fields };
    const answer = await hub.call("POST", `/jobs/${held.id}/${act}`, { token: tokens.worker, body });
    expect(answer, act).toMatchObject({ status: 403, code: "WORKER_BLOCKED" });
  }
  expect(snapshot(hub.home)).toBe(before);
  const heardOfAt = async () =>
    (await hub.must("GET", `/jobs/${held.id}`, { token: hub.admin })).json<JobView>().heartbeat_at;
  const lastHeard = await heardOfAt();
  expect((await beat(id, [held])).json()).toMatchObject({ lost: [held.id], drain: true });
  expect(await heardOfAt()).toBe(lastHeard);
  await registerWorker(hub, { worker_id: id });
  expect((await worker(id)).status).toBe("blocked");
  await change(id, "unblock");
  const body = { ...held.fence, result: 1 };
  expect((await hub.call("POST", `/jobs/${held.id}/result`, { token: tokens.worker, body })).status).toBe(
    200,
  );
  const told = readEvents(hub.home)
    .filter(({ details }) => details["worker_id"] === id)
    .map(({ event }) => event);
  expect(told).toEqual(expect.arrayContaining(["WORKER_BLOCKED", "WORKER_UNBLOCKED"]));
});

test("a worker whose token is used for another is blocked when that is answered, and again after it was unblocked", async () => {
  const id = freshName("bound");
  const { token } = await issueToken(hub, { role: "worker", worker_id: id });
  await registerWorker(hub, { token, worker_id: id });
  const { type } = await submitJob(hub);
  for (let round = 0; round < 2; round++) {
    const stray = { token, body: { worker_id: freshName("other") } };
    expect((await hub.call("POST", "/jobs/claim", stray)).text).toContain(`so worker ${id} is blocked`);
    const own = { token, body: { worker_id: id, types: [type] } };
    expect(await hub.call("POST", "/jobs/claim", own)).toMatchObject({ code: "WORKER_BLOCKED" });
    expect((await worker(id)).status).toBe("blocked");
    await change(id, "unblock");
  }
});

test("a worker that goes gives its jobs back", async () => {
  const { id, fence } = await runningJob(hub);
  expect((await hub.call("DELETE", `/workers/${fence.worker_id}`, { token: tokens.worker })).status).toBe(
    204,
  );
  const job = (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<JobView>();
  expect(job).toMatchObject({ status: "pending", fail_history: [{ code: "WORKER_DISCONNECTED" }] });
  expect(await beat(fence.worker_id)).toMatchObject({ status: 404, code: "WORKER_UNKNOWN" });
});

test("a worker's machine is shown by the samples that it sends", async () => {
  const id = await registerWorker(hub);
  const sample = { cpu_percent: 12.5, load1: 0.5, mem_used_bytes: 1, mem_total_bytes: 2, disk_free_bytes: 3 };
  const body = { ts: Date.now(), ...sample, slots_used: 1, slots: 4 };
  await hub.must("POST", `/workers/${id}/metrics`, { token: tokens.worker, body });
  expect((await worker(id)).metrics).toEqual([body]);
});

test("A18: a measurement of the future counts as one of now", async () => {
  const id = await registerWorker(hub);
  const body = {
    ts: Number.MAX_SAFE_INTEGER,
    cpu_percent: 1,
    load1: 1,
    mem_used_bytes: 1,
    mem_total_bytes: 2,
    disk_free_bytes: 3,
    slots_used: 1,
    slots: 4,
  };
  await hub.must("POST", `/workers/${id}/metrics`, { token: tokens.worker, body });
  const { metrics } = await worker(id);
  expect(metrics).toHaveLength(1);
  expect((metrics as { ts: number }[])[0]!.ts).toBeLessThan(Date.now() + 60_000);
});

test("a worker hears of new work and of a cancel on its command stream", async () => {
  const id = await registerWorker(hub);
  const commands = await openEventStream(hub, `/workers/${id}/commands`, { token: tokens.worker });
  expect(commands.headers["content-type"]).toMatch(/^text\/event-stream/);
  await commands.until("it is told to look once", ({ event }) => event === "work");
  const type = freshName("pushed");
  expect((await claim(id, type)).status).toBe(204);
  const seen = commands.events.length;
  await submitJob(hub, { type });
  await eventually("it is told of work", () =>
    commands.events.slice(seen).some(({ event }) => event === "work"),
  );
  const held = (await claim(id, type)).json<{ id: string }>();
  await hub.must("DELETE", `/jobs/${held.id}`, { token: hub.admin });
  const cancel = await commands.until("it is told to stop", ({ event }) => event === "cancel");
  expect(cancel.data).toEqual({ job_id: held.id });
  commands.cut();
});

test("a tenant is not shown what a worker does that others use too", async () => {
  const own = await registerWorker(hub, { token: tokens.acmeWorker });
  const shared = await registerWorker(hub);
  const sample = { cpu_percent: 1, load1: 1, mem_used_bytes: 1, mem_total_bytes: 2, disk_free_bytes: 3 };
  const body = { ts: Date.now(), ...sample, slots_used: 1, slots: 4 };
  await hub.must("POST", `/workers/${own}/metrics`, { token: tokens.acmeWorker, body });
  await hub.must("POST", `/workers/${shared}/metrics`, { token: tokens.worker, body });
  const seen = async (id: string, token: string) => {
    const listed = (await hub.must("GET", "/workers", { token })).json<WorkerView[]>();
    const single = (await hub.must("GET", `/workers/${id}`, { token })).json<WorkerView>();
    expect(listed.find((worker) => worker.id === id)).toEqual(single);
    return single;
  };
  const hidden = { current_jobs: null, job_counts: null, metrics: [] };
  expect(await seen(shared, tokens.acmeViewer)).toMatchObject(hidden);
  const shown = { current_jobs: 0, job_counts: { completed: 0, failed: 0 }, metrics: [body] };
  expect(await seen(own, tokens.acmeViewer)).toMatchObject(shown);
  expect(await seen(shared, tokens.viewer)).toMatchObject(shown);
});

test("a tenant sees the workers that serve it, and its administrator commands its own only", async () => {
  const ofAcme = await registerWorker(hub, { token: tokens.acmeWorker });
  const ofGlobex = await registerWorker(hub, { token: tokens.globexWorker });
  const shared = await registerWorker(hub);
  const seenBy = async (token: string) =>
    (await hub.must("GET", "/workers", { token })).json<WorkerView[]>().map(({ id }) => id);
  expect(await seenBy(tokens.acmeViewer)).toEqual(expect.arrayContaining([ofAcme, shared]));
  expect(await seenBy(tokens.acmeViewer)).not.toContain(ofGlobex);
  expect(await seenBy(tokens.viewer)).toEqual(expect.arrayContaining([ofAcme, ofGlobex, shared]));
  expect(await hub.call("GET", `/workers/${ofGlobex}`, { token: tokens.acmeViewer })).toMatchObject({
    status: 404,
  });
  const before = snapshot(hub.home);
  const refusals = async (id: string) => {
    const calls = ["block", "unblock", "drain", "undrain"].map(
      (act) => ["POST", `/workers/${id}/${act}`] as const,
    );
    const answers: string[] = [];
    for (const [method, path] of [...calls, ["DELETE", `/workers/${id}`] as const]) {
      const { status, text } = await hub.call(method, path, { token: tokens.acmeAdmin });
      answers.push(`${status} ${text.replaceAll(id, "NAME").replace(/"request_id":"[^"]*"/, "")}`);
    }
    return answers;
  };
  // A name of another tenant cannot be told from a free one.
  expect(await refusals(ofGlobex)).toEqual(await refusals(freshName("nobody")));
  for (const answer of await refusals(ofGlobex)) expect(answer).toMatch(/^404 /);
  for (const answer of await refusals(shared)) expect(answer).toMatch(/^403 /);
  expect(snapshot(hub.home)).toBe(before);
  expect((await hub.call("POST", `/workers/${ofAcme}/block`, { token: tokens.acmeAdmin })).status).toBe(200);
});

test("a heartbeat may tell what a job has used so far, and the job shows it while it runs", async () => {
  const { id, fence } = await runningJob(hub, {});
  const { worker_id: workerId, ...lease } = fence;
  const usage = { cpu_ms: 1_500, memory_peak_bytes: 4_096 };
  const body = { worker_id: workerId, current_jobs: [{ job_id: id, ...lease, usage }] };
  await hub.must("POST", "/workers/heartbeat", { token: hub.admin, body });
  const shown = async () =>
    (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<JobView>().usage;
  expect(await shown()).toMatchObject(usage);
  const silent = { worker_id: workerId, current_jobs: [{ job_id: id, ...lease }] };
  await hub.must("POST", "/workers/heartbeat", { token: hub.admin, body: silent });
  expect(await shown()).toMatchObject(usage);
  const stranger = { ...body, current_jobs: [{ job_id: id, ...lease, token: "x".repeat(32), usage: {} }] };
  await hub.must("POST", "/workers/heartbeat", { token: hub.admin, body: stranger });
  expect(await shown()).toMatchObject(usage);
});
