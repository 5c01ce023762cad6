import { createHash, createPublicKey, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import type { ClaimedBatch, ClaimedJobBody } from "../../src/contract/shapes/worker-shapes.ts";
import { snapshot } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { claimJob, freshName, registerWorker, submitJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

type Claim = ClaimedJobBody & { type: string; status: string; attempt: number; token: string };

function claim(workerId: string, types: string[], more: Record<string, unknown> = {}, token = tokens.worker) {
  return hub.call("POST", "/jobs/claim", { token, body: { worker_id: workerId, types, ...more } });
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Checks a signature with nothing but node:crypto, as a worker in another language would. */
async function isSigned(text: string, signature: string, keyId: string): Promise<boolean> {
  const { keys } = (await hub.must("GET", "/keys", { token: tokens.worker })).json<{
    keys: { key_id: string; public_key: string }[];
  }>();
  const key = createPublicKey(keys.find((one) => one.key_id === keyId)!.public_key);
  expect(sha256Bytes(key.export({ type: "spki", format: "der" })).slice(0, 16)).toBe(keyId);
  expect(signature).toMatch(/^base64:[A-Za-z0-9+/]{86}==$/);
  return verify(null, Buffer.from(text), key, Buffer.from(signature.slice("base64:".length), "base64"));
}

const sha256Bytes = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

describe("a claim", () => {
  test("carries a document and a lease, each signed, that belong together", async () => {
    const workerId = await registerWorker(hub);
    const { id, type } = await submitJob(hub, { token: tokens.alice, timeout_sec: 60, params: { ä: 1.0 } });
    const claimed = (await claim(workerId, [type])).json<Claim>();
    expect(claimed).toMatchObject({ id, type, status: "assigned", attempt: 1 });
    expect(await isSigned(claimed.document, claimed.signature, claimed.key_id)).toBe(true);
    expect(await isSigned(claimed.lease, claimed.lease_signature, claimed.key_id)).toBe(true);
    expect(await isSigned(`${claimed.document} `, claimed.signature, claimed.key_id)).toBe(false);
    const lease = JSON.parse(claimed.lease);
    expect(lease).toEqual({
      job_id: id,
      attempt: 1,
      worker_id: workerId,
      document_sha256: sha256(claimed.document),
      timeout_sec: 60,
      issued_at_ts: expect.any(Number),
      expires_at_ts: expect.any(Number),
      token: claimed.token,
    });
    expect(lease.expires_at_ts - lease.issued_at_ts).toBeGreaterThanOrEqual(60);
    expect(JSON.parse(claimed.document)).toMatchObject({
      job_id: id,
      tenant_id: "acme",
      user_id: "alice",
      status: "QUEUED",
    });
    expect(claimed.document).toContain('"\\u00e4":1');
  });

  test("is bound to the process that it names, if the worker reads such leases", async () => {
    const bound = async (document_format?: number) => {
      const workerId = await registerWorker(hub, { document_format });
      const { type } = await submitJob(hub);
      const body = { worker_id: workerId, types: [type], boot_id: "process 1" };
      const claimed = await hub.must("POST", "/jobs/claim", { token: tokens.worker, body });
      return JSON.parse(claimed.json<Claim>().lease);
    };
    expect(await bound(2)).toMatchObject({ boot_id: "process 1" });
    expect(await bound(1)).not.toHaveProperty("boot_id");
    expect(await bound()).not.toHaveProperty("boot_id");
  });

  test("B2: says what to do when the hub is away only if that is not the default of its kind", async () => {
    const provider = { provider: "OLLAMA", model: "m" } as const;
    const delegate = { run: { kind: "delegate", agent: "a", prompt: "p" }, repo_root: "/srv", ...provider };
    const worker = { document_format: 5, kinds: ["exec", "delegate"], capabilities: [provider] };
    const workerId = await registerWorker(hub, worker);
    const documentOf = async (job: Record<string, unknown>) => {
      const { type } = await submitJob(hub, { allowed_paths: job["repo_root"] && ["src"], ...job });
      return JSON.parse((await claim(workerId, [type])).json<Claim>().document);
    };
    expect(await documentOf({ on_disconnect: "stop" })).toMatchObject({ on_disconnect: "stop" });
    const inPlace = { ...delegate, run: { ...delegate.run, mode: "in-place" } };
    expect(await documentOf({ ...inPlace, on_disconnect: "keep" })).toMatchObject({ on_disconnect: "keep" });
    expect(await documentOf({ on_disconnect: "keep" })).not.toHaveProperty("on_disconnect");
    expect(await documentOf({ ...inPlace, on_disconnect: "stop" })).not.toHaveProperty("on_disconnect");
    expect(await documentOf({ ...delegate, on_disconnect: "keep" })).not.toHaveProperty("on_disconnect");
  });

  test("a delegate job says how its agent works only if its submitter did, and always has a place for files", async () => {
    const provider = { provider: "OLLAMA", model: "m" } as const;
    const worker = { document_format: 5, kinds: ["delegate"], capabilities: [provider] };
    const workerId = await registerWorker(hub, worker);
    const documentOf = async (mode?: string) => {
      const run = { kind: "delegate", agent: "a", prompt: "p", mode };
      const { id, type } = await submitJob(hub, {
        run,
        ...provider,
        repo_root: "/srv",
        allowed_paths: ["src"],
      });
      const document = JSON.parse((await claim(workerId, [type])).json<Claim>().document);
      expect(document.output_location).toEqual({ folder_id: "jobs", prefix: id });
      return document;
    };
    expect((await documentOf()).run).not.toHaveProperty("mode");
    expect((await documentOf("patch")).run).toMatchObject({ mode: "patch" });
    expect((await documentOf("in-place")).run).toMatchObject({ mode: "in-place" });
  });

  test("of many jobs carries one signature over all of them", async () => {
    const workerId = await registerWorker(hub);
    const type = freshName("batch");
    for (let index = 0; index < 5; index++) await submitJob(hub, { type });
    const body = { worker_id: workerId, types: [type], max: 256 };
    const batch = (
      await hub.must("POST", "/jobs/claim-batch", { token: tokens.worker, body })
    ).json<ClaimedBatch>();
    expect(batch.jobs).toHaveLength(5);
    const pairs = batch.jobs.map(({ document, lease }) => [sha256(document), sha256(lease)]);
    const signed = JSON.stringify({ jobs: pairs, worker_id: workerId });
    expect(await isSigned(signed, batch.batch.signature, batch.batch.key_id)).toBe(true);
    for (const { id, document, lease } of batch.jobs) {
      expect(JSON.parse(lease)).toMatchObject({
        job_id: id,
        document_sha256: sha256(document),
        worker_id: workerId,
      });
    }
    expect(await hub.call("POST", "/jobs/claim-batch", { token: tokens.worker, body })).toMatchObject({
      status: 204,
    });
  });

  test("by GET /jobs/pending is the document plus its signature, with the lease in a header", async () => {
    const type = freshName("pending");
    const workerId = await registerWorker(hub, { types: [type], document_format: 2 });
    const params = { text: "ünï\u2028", number: 1.5, nested: { z: 1, a: [true, null] } };
    const { id } = await submitJob(hub, { type, run: { kind: "handler" }, params });
    const path = `/jobs/pending?worker_id=${workerId}&boot_id=process`;
    const answer = await hub.must("GET", path, { token: tokens.worker });
    const { signature, ...document } = JSON.parse(answer.text);
    const keyId = String(answer.headers["writ-key-id"]);
    expect(await isSigned(pythonJson(document), signature, keyId)).toBe(true);
    const lease = JSON.parse(Buffer.from(String(answer.headers["writ-lease"]), "base64").toString());
    expect(lease).toMatchObject({
      job_id: id,
      worker_id: workerId,
      document_sha256: sha256(pythonJson(document)),
      boot_id: "process",
    });
    const { signature: leaseSignature, key_id: leaseKeyId, ...leaseFields } = lease;
    expect(await isSigned(pythonJson(leaseFields), leaseSignature, leaseKeyId)).toBe(true);
    const none = await hub.call("GET", `/jobs/pending?worker_id=${workerId}&wait=0`, {
      token: tokens.worker,
    });
    expect(none.status).toBe(204);
  });

  test("goes to one of 200 workers that race for one job", async () => {
    const workers = await Promise.all(Array.from({ length: 200 }, () => registerWorker(hub)));
    const { type } = await submitJob(hub);
    const answers = await Promise.all(workers.map((workerId) => claim(workerId, [type])));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(199).fill(204)]);
  });

  test("a waiting claim is woken by a fitting job and by no other", async () => {
    const workerId = await registerWorker(hub);
    const type = freshName("awaited");
    const waiting = claim(workerId, [type], { wait_ms: 30_000 });
    const polling = hub.call(
      "GET",
      `/jobs/pending?worker_id=${await registerWorker(hub, { types: [`${type}.poll`] })}&wait=30`,
      { token: tokens.worker },
    );
    await eventually("both wait", async () => (await waitingClaims()) >= 2);
    await submitJob(hub, { type: freshName("other") });
    const { id } = await submitJob(hub, { type });
    const polled = await submitJob(hub, { type: `${type}.poll` });
    expect((await waiting).json<Claim>().id).toBe(id);
    expect((await polling).json<{ job_id: string }>().job_id).toBe(polled.id);
  });

  test("a waiting claim wakes when a retry is due or a queue resumes", async () => {
    const workerId = await registerWorker(hub);
    const { type } = await submitJob(hub);
    const held = await claimJob(hub, { workerId, type });
    const waiting = claim(workerId, [type], { wait_ms: 30_000 });
    await eventually("it waits", async () => (await waitingClaims()) >= 1);
    const body = { ...held.fence, reason: "again" };
    await hub.must("POST", `/jobs/${held.id}/fail`, { token: tokens.worker, body });
    expect((await waiting).json<Claim>()).toMatchObject({ id: held.id, attempt: 2 });

    const paused = freshName("paused");
    await hub.must("PUT", `/queues/${paused}`, { token: hub.admin, body: { paused: true } });
    const { id } = await submitJob(hub, { type: paused });
    const parked = claim(workerId, [paused], { wait_ms: 30_000 });
    await eventually("it waits", async () => (await waitingClaims()) >= 1);
    await hub.must("PUT", `/queues/${paused}`, { token: hub.admin, body: { paused: false } });
    expect((await parked).json<Claim>().id).toBe(id);
  });

  test("leases nothing to a caller that has hung up", async () => {
    const workerId = await registerWorker(hub);
    const type = freshName("left");
    const hangUp = new AbortController();
    const body = { worker_id: workerId, types: [type], wait_ms: 30_000 };
    const waiting = hub.call("POST", "/jobs/claim", { token: tokens.worker, body, signal: hangUp.signal });
    await eventually("it waits", async () => (await waitingClaims()) >= 1);
    hangUp.abort();
    await expect(waiting).rejects.toThrow();
    await eventually("the hub has noticed", async () => (await waitingClaims()) === 0);
    const { id } = await submitJob(hub, { type });
    expect((await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<JobView>().status).toBe(
      "pending",
    );
    expect((await claim(workerId, [type])).json<Claim>().id).toBe(id);
  });

  test("takes the higher priority first, then the older, and lets tenants take turns", async () => {
    const workerId = await registerWorker(hub);
    const type = freshName("order");
    const make = async (token: string, priority: number) =>
      (await submitJob(hub, { token, type, priority })).id;
    const a1 = await make(tokens.alice, 5);
    const a2 = await make(tokens.alice, 5);
    const a3 = await make(tokens.bob, 9);
    const e1 = await make(tokens.eve, 1);
    const order: string[] = [];
    for (let index = 0; index < 4; index++) order.push((await claim(workerId, [type])).json<Claim>().id);
    expect(order.filter((id) => id !== e1)).toEqual([a3, a1, a2]);
    expect(order.indexOf(e1)).toBeLessThan(2);
  });

  test("finds only what the worker can run", async () => {
    const tag = freshName("tag");
    const fitting = { tags: [tag], cores: 8, ram_gb: 16.5, session: "s1" };
    const able = await registerWorker(hub, { ...fitting, location: "CLOUD" });
    const type = freshName("picky");
    const requires = { tags: [tag], cores: 8, ram_gb: 16.5, session: "s1" };
    const { id } = await submitJob(hub, { type, requires, execution_location: "CLOUD" });
    for (const [what, lacks] of [
      ["tag", { ...fitting, location: "CLOUD", tags: [] }],
      ["cores", { ...fitting, location: "CLOUD", cores: 7 }],
      ["memory", { ...fitting, location: "CLOUD", ram_gb: 16 }],
      ["session", { ...fitting, location: "CLOUD", session: "s2" }],
      ["location", fitting],
    ] as const) {
      expect((await claim(await registerWorker(hub, lacks), [type])).status, what).toBe(204);
    }
    expect((await claim(able, [freshName("other")])).status).toBe(204);
    expect((await claim(able, [type])).json<Claim>().id).toBe(id);
  });

  test("gives handler jobs only to workers that name their type", async () => {
    const { id, type } = await submitJob(hub, { run: { kind: "handler" }, token: tokens.bob });
    const tenantWorker = await registerWorker(hub, { token: tokens.acmeWorker });
    const unnamed = { worker_id: tenantWorker, max: 256 };
    const taken = await hub.call("POST", "/jobs/claim-batch", { token: tokens.acmeWorker, body: unnamed });
    expect(taken.text).not.toContain(id);
    expect((await claim(tenantWorker, [type], {}, tokens.acmeWorker)).json<Claim>().id).toBe(id);
  });
});

describe("the right to claim", () => {
  test("a token of one tenant claims that tenant's jobs only, and so does its administrator", async () => {
    for (const token of [tokens.globexWorker, tokens.globexAdmin]) {
      const type = freshName("theirs");
      await submitJob(hub, { token: tokens.alice, type });
      const own = await submitJob(hub, { token: tokens.eve, type });
      const workerId = await registerWorker(hub, { token });
      expect((await claim(workerId, [type], {}, token)).json<Claim>().id).toBe(own.id);
      expect((await claim(workerId, [type], {}, token)).status).toBe(204);
    }
  });

  test("a token of one tenant does not act as a worker of another", async () => {
    const workerId = await registerWorker(hub, { token: tokens.acmeWorker });
    const before = snapshot(hub.home);
    const registration = { worker_id: workerId, cores: 1, ram_gb: 1, tags: [] };
    for (const [method, path, body] of [
      ["POST", "/jobs/claim", { worker_id: workerId }],
      ["POST", "/workers/register", registration],
      ["POST", "/workers/heartbeat", { worker_id: workerId, current_jobs: [] }],
      ["DELETE", `/workers/${workerId}`, undefined],
    ] as const) {
      const answer = await hub.call(method, path, { token: tokens.globexWorker, body });
      expect(answer, path).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
    }
    expect(snapshot(hub.home)).toBe(before);
  });

  test("a bound token acts as its worker", async () => {
    await registerWorker(hub, { token: tokens.boundWorker, worker_id: "bound" });
    const { id, type } = await submitJob(hub);
    expect((await claim("bound", [type], {}, tokens.boundWorker)).json<Claim>().id).toBe(id);
  });
});

async function waitingClaims(): Promise<number> {
  const { text } = await hub.must("GET", "//metrics", { token: hub.admin });
  return Number(/^writ_waiting_workers (\d+)$/m.exec(text)![1]);
}

/** What Python's json.dumps(value, sort_keys=True, separators=(",", ":")) writes, for values without 1.0 or 1e21. */
function pythonJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, item]) => `${pythonJson(key)}:${pythonJson(item)}`).join(",")}}`;
  }
  return JSON.stringify(value).replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

test("a HEAD leases nothing and opens no stream: its caller would get neither", async () => {
  const job = await submitJob(hub);
  const workerId = await registerWorker(hub);
  const paths = [
    `/jobs/pending?worker_id=${workerId}`,
    "/jobs/events",
    `/workers/${workerId}/commands`,
    `/jobs/${job.id}/output/stdout?follow=true`,
  ];
  for (const path of paths) {
    const answer = await hub.call("HEAD", path, { token: hub.admin });
    expect(answer, path).toMatchObject({ status: 405, headers: { allow: "GET" } });
  }
  const { status } = (await hub.must("GET", `/jobs/${job.id}`, { token: hub.admin })).json<JobView>();
  expect(status).toBe("pending");
});
