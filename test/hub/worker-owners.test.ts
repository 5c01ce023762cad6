import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import type { WorkerView } from "../../src/contract/shapes/worker-view.ts";
import { readEvents } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, registerWorker, runningJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { hubForAll, tokensOf } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);
const tokens = tokensOf(hub);

const pem = () => generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }) as string;

const issueAs = (token: string, body: Record<string, unknown>) =>
  hub.call("POST", "/tokens", { token, body: { role: "worker", ...body } });

const register = (token: string, workerId: string, fields: Record<string, unknown> = {}) =>
  hub.call("POST", "/workers/register", {
    token,
    body: { worker_id: workerId, cores: 1, ram_gb: 1, tags: [], ...fields },
  });

const statusOf = async (id: string) =>
  (await hub.must("GET", `/workers/${id}`, { token: hub.admin })).json<WorkerView>().status;

async function enroll(tenantId: string | undefined, workerId: string): Promise<string> {
  return (await issueToken(hub, { role: "worker", tenant_id: tenantId, worker_id: workerId })).token;
}

test("A1: a tenant's administrator cannot issue a token for a shared worker or another tenant's", async () => {
  const shared = await registerWorker(hub);
  const ofGlobex = await registerWorker(hub, { token: tokens.globexWorker });
  const enrolled = freshName("enrolled");
  await enroll("globex", enrolled);
  for (const workerId of [shared, ofGlobex, enrolled]) {
    const answer = await issueAs(tokens.acmeAdmin, { worker_id: workerId });
    expect(answer, workerId).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
  }
  const own = freshName("own");
  expect((await issueAs(tokens.acmeAdmin, { worker_id: own })).status).toBe(201);
  expect((await issueAs(tokens.acmeAdmin, { worker_id: own })).status).toBe(201);
});

test("A1: a token of one tenant that names a worker of another reaches nothing of it and proves nothing", async () => {
  const workerId = freshName("moved");
  const old = await enroll("acme", workerId);
  await register(old, workerId);
  // The hub's administrator gives the worker to another tenant; the older token is still valid.
  const token = await enroll("globex", workerId);
  expect((await register(token, workerId)).status).toBe(204);
  const acts = [
    ["POST", "/workers/register", { worker_id: workerId, cores: 1, ram_gb: 1, tags: [] }],
    ["POST", "/workers/heartbeat", { worker_id: workerId, status: "draining", current_jobs: [] }],
    ["POST", "/jobs/claim", { worker_id: workerId }],
    ["GET", `/workers/${workerId}/commands`, undefined],
    ["DELETE", `/workers/${workerId}`, undefined],
    // Used outside its worker, which would be evidence against a worker that it speaks for.
    ["POST", "/jobs/claim", { worker_id: freshName("other") }],
  ] as const;
  for (const [method, path, body] of acts) {
    expect(await hub.call(method, path, { token: old, body }), path).toMatchObject({ status: 403 });
  }
  expect(await statusOf(workerId)).toBe("active");
  const told = readEvents(hub.home).filter(({ details }) => details["evidence_against"] === workerId);
  expect(told).toEqual([]);
  expect((await hub.call("POST", "/tokens/refresh", { token: old, body: {} })).status).toBe(401);
});

test("A1: an unbound token of a tenant cannot take a name that was enrolled, and keeps none that the hub wants", async () => {
  const enrolled = freshName("good");
  const honest = await enroll("globex", enrolled);
  expect(await register(tokens.acmeWorker, enrolled, { public_key: pem() })).toMatchObject({ status: 403 });
  expect((await register(honest, enrolled, { public_key: pem() })).status).toBe(204);

  const free = freshName("free");
  expect((await register(tokens.acmeWorker, free, { public_key: pem() })).status).toBe(204);
  expect((await issueAs(tokens.globexAdmin, { worker_id: free })).status).toBe(403);
  const wanted = await enroll("globex", free);
  expect(await register(tokens.acmeWorker, free)).toMatchObject({ status: 403 });
  expect((await register(wanted, free, { public_key: pem() })).status).toBe(204);
});

test("A1: a worker keeps its owner when a caller acts for it with a token of the hub", async () => {
  const workerId = await registerWorker(hub, { token: tokens.acmeWorker });
  expect((await register(tokens.worker, workerId)).status).toBe(204);
  const seen = await hub.call("GET", `/workers/${workerId}`, { token: tokens.globexViewer });
  expect(seen.status).toBe(404);
});

test("A3: a block outlives removal, registration and a new key, until a person lifts it", async () => {
  const workerId = freshName("blocked");
  const token = await enroll(undefined, workerId);
  const key = pem();
  await register(token, workerId, { public_key: key });
  await hub.must("POST", `/workers/${workerId}/block`, { token: hub.admin });
  for (const by of [token, hub.admin]) {
    expect((await hub.call("DELETE", `/workers/${workerId}`, { token: by })).status).toBe(204);
    expect(await statusOf(workerId)).toBe("blocked");
    expect((await register(token, workerId, { public_key: pem() })).status).toBe(409);
    expect((await register(token, workerId, { public_key: key })).status).toBe(204);
    const claim = await hub.call("POST", "/jobs/claim", { token, body: { worker_id: workerId } });
    expect(claim).toMatchObject({ status: 403, code: "WORKER_BLOCKED" });
  }
  await hub.must("POST", `/workers/${workerId}/unblock`, { token: hub.admin });
  expect(await statusOf(workerId)).toBe("active");
});

test("A3: a worker that leaves before it is blocked on evidence comes back blocked", async () => {
  const workerId = freshName("gone");
  const token = await enroll(undefined, workerId);
  const { fence } = await runningJob(hub);
  const stray = await hub.call("POST", "/jobs/claim", { token, body: { worker_id: fence.worker_id } });
  expect(stray.status).toBe(403);
  await eventually(
    "it is blocked",
    async () => (await hub.call("GET", `/workers/${workerId}`, { token: hub.admin })).status === 200,
  );
  expect((await register(token, workerId)).status).toBe(204);
  expect(await statusOf(workerId)).toBe("blocked");
});
