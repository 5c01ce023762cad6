import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tokenOfAttempt } from "../../src/signing/batch-lease.ts";
import { loadVerifyingKey } from "../../src/signing/ed25519.ts";
import { verifyBatchLease } from "../../src/signing/verify-batch-lease.ts";
import { readLeasedBatch } from "../../src/worker/hub/read-leased-batch.ts";
import { readEvents, snapshot } from "../support/database.ts";
import { stillEnv } from "../support/hub.ts";
import { type Fence, freshName, jobReader, registerWorker } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";
import { activeKey } from "../support/worker.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);
const view = jobReader(hub);

type Claimed = { id: string; fence: Fence };

async function submitted(count: number, type: string): Promise<void> {
  const jobs = Array.from({ length: count }, () => ({ type, run: { kind: "handler", params: { ä: "b" } } }));
  await hub.must("POST", "/jobs/batch", { token: tokens.alice, body: { jobs } });
}

/** Claims with one lease and verifies it as a worker does. */
async function claimed(
  workerId: string,
  type: string,
): Promise<{ jobs: Claimed[]; text: string; secret: string }> {
  const body = { worker_id: workerId, types: [type], max: 256, boot_id: "process 1", batch_lease: true };
  const { text } = await hub.must("POST", "/jobs/claim-batch", { token: tokens.worker, body });
  const received = readLeasedBatch(text)!;
  const trusted = [loadVerifyingKey(activeKey(hub).publicKeyPem)];
  const jobs = verifyBatchLease({ trusted, workerId, nowMs: Date.now() }, received).map(({ lease }) => {
    const { job_id: id, worker_id, attempt, token } = lease;
    return { id, fence: { worker_id, attempt, token } };
  });
  return { jobs, text, secret: received.secret };
}

const acts: [name: string, call: (job: Claimed) => ReturnType<typeof hub.call>][] = [
  ["start", (job) => post(job, "start")],
  ["heartbeat", (job) => post(job, "heartbeat")],
  ["progress", (job) => post(job, "progress", { progress: 5 })],
  ["token", (job) => post(job, "token")],
  ["output", (job) => append(job)],
  ["result", (job) => post(job, "result", { result: 1 })],
  ["fail", (job) => post(job, "fail", { reason: "no" })],
  ["release", (job) => post(job, "release")],
];

function post({ id, fence }: Claimed, act: string, more: object = {}) {
  return hub.call("POST", `/jobs/${id}/${act}`, { token: tokens.worker, body: { ...fence, ...more } });
}

function append({ id, fence }: Claimed) {
  const headers = {
    "content-type": "application/octet-stream",
    "x-worker-id": fence.worker_id,
    "x-job-attempt": String(fence.attempt),
    "x-lease-token": fence.token,
  };
  return hub.call("POST", `/jobs/${id}/output/stdout?offset=0`, { token: tokens.worker, body: "x", headers });
}

test("F-21: each act of an older attempt in a batch is refused, and its neighbours in the batch are not", async () => {
  const type = freshName("batch");
  const workerId = await registerWorker(hub, { handler_types: [type], document_format: 2 });
  await submitted(acts.length + 1, type);
  const first = await claimed(workerId, type);
  const neighbour = first.jobs.at(-1)!;
  const older = first.jobs.slice(0, -1);
  for (const job of older) {
    expect((await post(job, "start")).status).toBe(204);
    expect((await post(job, "fail", { reason: "again" })).status).toBe(200);
  }
  const again = await claimed(workerId, type);
  expect(again.jobs.map(({ fence }) => fence.attempt)).toEqual(older.map(() => 2));
  const second = new Map(again.jobs.map((job) => [job.id, job]));
  for (const [index, [name, act]] of acts.entries()) {
    const stale = older[index]!;
    const newer = second.get(stale.id)!;
    const before = snapshot(hub.home);
    expect([name, await act(stale)]).toMatchObject([name, { status: 409, code: "LEASE_LOST" }]);
    const mixed = { ...newer, fence: { ...newer.fence, token: stale.fence.token } };
    expect([name, await act(mixed)]).toMatchObject([name, { status: 409, code: "LEASE_LOST" }]);
    const swapped = { ...newer, fence: { ...newer.fence, token: neighbour.fence.token } };
    expect([name, await act(swapped)]).toMatchObject([name, { status: 409, code: "LEASE_LOST" }]);
    expect(snapshot(hub.home)).toEqual(before);
    expect(await view(stale.id)).toMatchObject({ status: "assigned", attempt: 2 });
  }
  expect((await post(neighbour, "result", { result: 1 })).status).toBe(200);
});

test("one job of a batch that was released and claimed again is still refused, and its neighbours end in rows", async () => {
  const type = freshName("batch");
  const workerId = await registerWorker(hub, { handler_types: [type], document_format: 2 });
  await submitted(3, type);
  const first = await claimed(workerId, type);
  const [released, cancelled, fine] = first.jobs as [Claimed, Claimed, Claimed];
  expect((await post(released, "release")).status).toBe(204);
  await hub.must("DELETE", `/jobs/${cancelled.id}`, { token: tokens.alice });
  expect((await post(cancelled, "fail", { reason: "stopped", code: "EXECUTION_ERROR" })).status).toBe(200);
  const items = [released, cancelled, fine].map(({ id, fence: { attempt, token } }) => {
    return { job_id: id, attempt, token, result: 1 };
  });
  const body = { worker_id: workerId, items };
  const { text } = await hub.must("POST", "/jobs/results", { token: tokens.worker, body });
  const lost = { error: { code: "LEASE_LOST" } };
  expect(JSON.parse(text).items).toMatchObject([lost, lost, { status: "completed" }]);
  expect(await view(released.id)).toMatchObject({ status: "pending" });
  expect(await view(cancelled.id)).toMatchObject({ status: "failed", fail_code: "CANCELLED" });
});

test("another secret gives tokens that are refused, and neither it nor a token is in the database or an event", async () => {
  const type = freshName("batch");
  const workerId = await registerWorker(hub, { handler_types: [type], document_format: 2 });
  await submitted(2, type);
  const { jobs, secret, text } = await claimed(workerId, type);
  const [job] = jobs as [Claimed, Claimed];
  const altered = secret.startsWith("A") ? `B${secret.slice(1)}` : `A${secret.slice(1)}`;
  const forged = { ...job, fence: { ...job.fence, token: tokenOfAttempt(altered, job.id, 1) } };
  expect(await post(forged, "result", { result: 1 })).toMatchObject({ status: 409, code: "LEASE_LOST" });
  expect(text).not.toContain(job.fence.token);
  const { signature } = readLeasedBatch(text)!.batch;
  expect(signature).toMatch(/^base64:/);
  snapshot(hub.home);
  const paths = ["writ.sqlite", "writ.sqlite-wal"].map((name) => join(hub.home, name)).filter(existsSync);
  const files = paths.map((path) => readFileSync(path, "latin1"));
  const kept = [...files, JSON.stringify(readEvents(hub.home))].join("\n");
  for (const hidden of [secret, ...jobs.map(({ fence }) => fence.token)]) expect(kept).not.toContain(hidden);
});

test("a worker that does not ask for it has a lease for each job, as before", async () => {
  const type = freshName("batch");
  const workerId = await registerWorker(hub, { handler_types: [type] });
  await submitted(2, type);
  const body = { worker_id: workerId, types: [type], max: 5 };
  const { text } = await hub.must("POST", "/jobs/claim-batch", { token: tokens.worker, body });
  const { jobs, secret } = JSON.parse(text);
  expect(secret).toBeUndefined();
  const leases = jobs.map(({ lease }: { lease: string }) => JSON.parse(lease));
  expect(new Set(leases.map(({ token }: { token: string }) => token)).size).toBe(2);
  expect(readLeasedBatch(text)).toBeNull();
});
