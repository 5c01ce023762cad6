import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ClaimedBatch, ClaimedJobBody } from "../../src/contract/shapes/worker-shapes.ts";
import { WritError } from "../../src/core/errors.ts";
import type { StorageRight } from "../../src/core/storage-policy.ts";
import { verifyJobToken } from "../../src/signing/job-token.ts";
import { openKeyRing } from "../../src/signing/key-ring.ts";
import { lastSeq, readEvents, snapshot, tamperWith } from "../support/database.ts";
import { stillEnv } from "../support/hub.ts";
import {
  claimedJob,
  completedJob,
  freshName,
  type HeldJob,
  jobReader,
  registerWorker,
  submitJob,
} from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);
const view = jobReader(hub);

const output_location = { folder_id: "results", prefix: "runs/1/" };
const putThere: StorageRight[] = [{ folderId: "results", prefix: "runs/1", method: "PUT" }];

/** Reads a token as a second hub on the same keys would. */
function read(token: string, nowMs = Date.now()) {
  return verifyJobToken(openKeyRing(join(hub.home, "keys"), { nowMs }), token, nowMs);
}

function ask({ id, fence }: HeldJob, token = tokens.worker) {
  return hub.call("POST", `/jobs/${id}/token`, { token, body: fence });
}

function eventsOf(jobId: string, name: string, afterSeq: number) {
  return readEvents(hub.home, afterSeq).filter(({ event, job_id }) => event === name && job_id === jobId);
}

type Fresh = { job_token: string; expires_at: number };

describe("a fresh job token is refused", () => {
  test("for a job without an output location, with a code that is not that of a lost lease", async () => {
    const held = await claimedJob(hub, { params: { output_location } });
    const before = snapshot(hub.home);
    const answer = await ask(held);
    expect(answer).toMatchObject({ status: 409, code: "STATE_CONFLICT" });
    expect(answer.text).toContain("no output_location");
    expect(snapshot(hub.home)).toBe(before);
  });

  test("for a job that is over", async () => {
    const answer = await ask(await completedJob(hub, { output_location }));
    expect(answer).toMatchObject({ status: 409, code: "LEASE_LOST" });
  });

  test("for an attempt that has been given back, and is noted once", async () => {
    const held = await claimedJob(hub, { output_location });
    await hub.must("POST", `/jobs/${held.id}/release`, { token: tokens.worker, body: held.fence });
    const seq = lastSeq(hub.home);
    for (let time = 0; time < 3; time++) {
      expect(await ask(held)).toMatchObject({ status: 409, code: "LEASE_LOST" });
    }
    expect(eventsOf(held.id, "STALE_RESULT_REJECTED", seq)).toHaveLength(1);
  });

  test("when the policy was edited in the database", async () => {
    const held = await claimedJob(hub, { output_location });
    await tamperWith(hub.home).editInDocument(held.id, "runs/1/", "others/");
    const seq = lastSeq(hub.home);
    expect(await ask(held)).toMatchObject({ status: 400, code: "INVALID_SIGNATURE" });
    expect(eventsOf(held.id, "INVALID_SIGNATURE", seq)).toMatchObject([
      { details: { violation_type: "SEAL" } },
    ]);
  });
});

test("a job token opens nothing that a token of the hub opens", async () => {
  const held = await claimedJob(hub, { output_location });
  const { job_token } = (await ask(held)).json<Fresh>();
  for (const [method, path, body] of [
    ["GET", `/jobs/${held.id}`, undefined],
    ["GET", "/session", undefined],
    ["POST", "/session", {}],
    ["POST", `/jobs/${held.id}/token`, held.fence],
  ] as const) {
    const answer = await hub.call(method, path, { token: job_token, body });
    expect(answer, path).toMatchObject({ status: 401, code: "UNAUTHENTICATED" });
    expect(answer.text).not.toContain(job_token);
  }
});

describe("a claim carries a job token", () => {
  test("alone, in a batch and in a header, when the job has an output location and not otherwise", async () => {
    const type = freshName("files");
    const workerId = await registerWorker(hub, { types: [type] });
    const submit = (wish: object = {}) => submitJob(hub, { token: tokens.alice, type, ...wish });
    const claim = async () =>
      (
        await hub.must("POST", "/jobs/claim", { token: tokens.worker, body: { worker_id: workerId } })
      ).json<ClaimedJobBody>();

    await submit({ params: { output_location } });
    expect(await claim()).not.toHaveProperty("job_token");

    const { id } = await submit({ output_location });
    const single = await claim();
    expect(read(single.job_token!)).toEqual({
      jobId: id,
      attempt: 1,
      tenantId: "acme",
      workerId,
      policy: putThere,
      issuedAtTs: expect.any(Number),
      expiresAtTs: expect.any(Number),
    });

    const withFiles = (await submit({ output_location })).id;
    const without = (await submit()).id;
    const body = { worker_id: workerId, max: 2 };
    const { jobs } = (
      await hub.must("POST", "/jobs/claim-batch", { token: tokens.worker, body })
    ).json<ClaimedBatch>();
    expect(jobs.map((job) => job.id)).toEqual([withFiles, without]);
    expect(jobs.map((job) => job.job_token !== undefined)).toEqual([true, false]);
    expect(read(jobs[0]!.job_token!)).toMatchObject({ jobId: withFiles, policy: putThere });

    const poll = () => hub.must("GET", `/jobs/pending?worker_id=${workerId}`, { token: tokens.worker });
    const polled = (await submit({ output_location })).id;
    const answer = await poll();
    expect(read(String(answer.headers["writ-job-token"]))).toMatchObject({ jobId: polled, attempt: 1 });
    expect(answer.text).not.toContain("job_token");
    await submit();
    expect((await poll()).headers).not.toHaveProperty("writ-job-token");
  });

  test("with the job's own policy when it has one", async () => {
    const storage_access_policy = [
      { folderId: "input", prefix: "data/", method: "GET" },
      { folderId: "results", prefix: "", method: "PUT" },
    ];
    const held = await claimedJob(hub, { output_location, storage_access_policy });
    expect(read((await ask(held)).json<Fresh>().job_token).policy).toEqual([
      { folderId: "input", prefix: "data", method: "GET" },
      { folderId: "results", prefix: "", method: "PUT" },
    ]);
  });
});

// O-14: it used to expire with the first lease, so that a job of 80 seconds lost its result.
describe("O-14: a job token lives as long as its attempt may run", () => {
  test.each([
    ["the timeout and a quarter of an hour", 80, 80 + 900],
    ["a day without a timeout", 0, 86_400],
    ["a day at most", 604_800, 86_400],
  ])("%s", async (_, timeout_sec, lifeSec) => {
    const held = await claimedJob(hub, { output_location, timeout_sec });
    const before = snapshot(hub.home);
    const { job_token, expires_at } = (await ask(held)).json<Fresh>();
    const { issuedAtTs, expiresAtTs } = read(job_token);
    expect(expiresAtTs * 1000).toBe(expires_at);
    // The beginning is rounded down, and the end up.
    expect([lifeSec, lifeSec + 1]).toContain(expiresAtTs - issuedAtTs);
    expect(read(job_token, expires_at - 1)).toMatchObject({ jobId: held.id });
    expect(() => read(job_token, expires_at)).toThrow(WritError);
    expect(snapshot(hub.home), "a token renews nothing").toBe(before);
  });
});

describe("O-14: each use of a job token asks the store", () => {
  const use = async (held: HeldJob, job_token: string) =>
    hub.call("POST", `/docker/jobs/${held.id}/start`, { token: job_token, body: {} });

  test("whether its worker is blocked, which another hub may have done a moment ago", async () => {
    const held = await claimedJob(hub, { output_location });
    const { job_token } = (await ask(held)).json<Fresh>();
    await hub.store.setWorker({
      workerId: held.fence.worker_id,
      set: { blocked: true },
      origin: null,
      nowMs: Date.now(),
    });
    expect(await use(held, job_token)).toMatchObject({ status: 403, code: "WORKER_BLOCKED" });
  });

  test("whether the hub is locked, before its lease has been taken back", async () => {
    const held = await claimedJob(hub, { output_location });
    const { job_token } = (await ask(held)).json<Fresh>();
    await hub.store.lockDown({ reason: "a key leaked", userId: null, origin: null, nowMs: Date.now() });
    try {
      expect(await use(held, job_token)).toMatchObject({ status: 423, code: "LOCKDOWN" });
    } finally {
      await hub.must("DELETE", "/lockdown", { token: hub.admin });
    }
  });

  test("and does not renew the lease: only the worker's heartbeats do", async () => {
    const held = await claimedJob(hub, { output_location });
    const { job_token } = (await ask(held)).json<Fresh>();
    const lease = async () =>
      (await hub.store.getJob({ jobId: held.id, tenantId: null }))!.job.leaseExpiresAt;
    const before = await lease();
    for (const status of ["assigned", "running"]) {
      expect(await view(held.id)).toMatchObject({ status });
      expect(await use(held, job_token)).toMatchObject({ status: 204 });
    }
    const file = { folderId: "results", objectKey: "runs/1/a.txt", method: "PUT" };
    await hub.must("POST", `/docker/jobs/${held.id}/request-presigned-urls`, {
      token: job_token,
      body: [file],
    });
    expect(await lease()).toBe(before);
    expect(await view(held.id)).toMatchObject({ status: "running", heartbeat_at: null });
  });
});

describe("a fresh job token", () => {
  test("can be called by an administrator too, who may leave out a worker's required fields", async () => {
    const { id, fence } = await claimedJob(hub, { output_location });
    const body = { worker_id: fence.worker_id };
    const answer = await hub.must("POST", `/jobs/${id}/token`, { token: hub.admin, body });
    expect(read(answer.json<Fresh>().job_token)).toMatchObject({ jobId: id, attempt: 1 });
  });

  test("is signed by the new key after a rotation, and one by the old key ends when that is revoked", async () => {
    const held = await claimedJob(hub, { output_location });
    const old = (await ask(held)).json<Fresh>().job_token;
    await hub.must("POST", "/keys/rotate", { token: hub.admin, body: {} });
    const made = (await ask(held)).json<Fresh>().job_token;
    expect(read(old)).toMatchObject({ jobId: held.id });
    const kid = JSON.parse(Buffer.from(old.split(".")[0]!, "base64url").toString()).kid;
    await hub.must("POST", `/keys/${kid}/revoke`, { token: hub.admin, body: {} });
    expect(() => read(old)).toThrow("may not sign now");
    expect(read(made)).toMatchObject({ jobId: held.id });
  });
});
