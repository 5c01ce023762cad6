import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { ArtifactList } from "../../src/contract/shapes/storage-shapes.ts";
import { makeJobToken, verifyJobToken } from "../../src/signing/job-token.ts";
import { openKeyRing } from "../../src/signing/key-ring.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { lastSeq, readEvents, snapshot } from "../support/database.ts";
import { jobTokenOf, octets, pathOf, presign, presignForJob, put, uploadForJob } from "../support/files.ts";
import { stillEnv } from "../support/hub.ts";
import { claimedJob, claimJob, type HeldJob, jobReader, runningJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll({ ...stillEnv, WRIT_BACKOFF_SCALE: "0" });
const tokens = tokensOf(hub);
const view = jobReader(hub);

const output_location = { folder_id: "results", prefix: "runs/1" };
const text = Buffer.from("forty-two");
const file = { folderId: "results", objectKey: "runs/1/a.txt" };
const facts = { size: text.length, sha256: sha256Hex(text) };

function running(wish: object = {}): Promise<HeldJob> {
  return runningJob(hub, { token: tokens.alice, output_location, ...wish });
}

function callDocker(id: string, act: string, token: string, body: unknown = {}) {
  return hub.call("POST", `/docker/jobs/${id}/${act}`, { token, body });
}

function asks(held: HeldJob, token: string, request: object) {
  return callDocker(held.id, "request-presigned-urls", token, [request]);
}

function result(held: HeldJob, output_files: unknown[]) {
  return hub.call("POST", `/jobs/${held.id}/result`, {
    token: tokens.worker,
    body: { ...held.fence, result: 1, output_files },
  });
}

async function artifactsOf(id: string, token = tokens.alice) {
  return (await hub.must("GET", `/jobs/${id}/artifacts`, { token })).json<ArtifactList>().files;
}

/** Whatever the answer redirects to. */
async function download(id: string, key: string, token = tokens.alice) {
  const answer = await hub.call("GET", `/jobs/${id}/artifacts/${key}`, { token });
  if (answer.status !== 302) return answer;
  return hub.call("GET", pathOf({ url: String(answer.headers["location"]) }));
}

/** What the hub would have signed, with something changed. */
async function forged(held: HeldJob, change: object): Promise<string> {
  const ring = openKeyRing(join(hub.home, "keys"), { nowMs: Date.now() });
  const token = verifyJobToken(ring, await jobTokenOf(hub, held), Date.now());
  return makeJobToken(ring.signing, { ...token, ...change });
}

describe("a job is refused", () => {
  let held: HeldJob;
  let token: string;
  beforeAll(async () => {
    held = await running();
    token = await jobTokenOf(hub, held);
  });

  test.each([
    ["../other-tenant/x", "results"],
    ["/x", "results"],
    ["runs/1//b", "results"],
    ["runs/1/%2e%2e/x", "results"],
    ["runs/1/../../x", "results"],
    ["runs/1/a\0b", "results"],
    [`runs/1/${"a/".repeat(600)}b`, "results"],
    ["runs/1/a\u0007", "results"],
    ["runs/10/a", "results"],
    ["runs/1", "results"],
    ["runs/1/a", "secrets"],
    ["runs/1/a", "../globex"],
  ])("M-02: a URL for the key %j in %s, with a record", async (objectKey, folderId) => {
    const before = snapshot(hub.home);
    const seq = lastSeq(hub.home);
    expect(await asks(held, token, { folderId, objectKey, method: "PUT" })).toMatchObject({
      status: 403,
      code: "PERMISSION_DENIED",
    });
    expect(snapshot(hub.home)).toBe(before);
    const events = readEvents(hub.home, seq).filter(({ details }) => details["folded"] === undefined);
    for (const event of events) expect(event).toMatchObject({ event: "PERMISSION_DENIED", job_id: held.id });
  });

  test("other methods than its policy has", async () => {
    for (const method of ["GET", "HEAD", "DELETE"]) {
      expect(await asks(held, token, { ...file, method })).toMatchObject({ status: 403 });
    }
  });

  test("what its token is not for: another job, also of its own tenant", async () => {
    const [held, other] = [await running(), await running()];
    const token = await jobTokenOf(hub, held);
    const seq = lastSeq(hub.home);
    for (const act of ["start", "request-presigned-urls", "complete"]) {
      const body = { start: {}, complete: { success: true } }[act] ?? [{ ...file, method: "PUT" }];
      const answer = await callDocker(other.id, act, token, body);
      expect(answer).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
    }
    expect(readEvents(hub.home, seq)).toMatchObject([
      { event: "PERMISSION_DENIED", job_id: held.id },
      { event: "PERMISSION_DENIED" },
      { event: "PERMISSION_DENIED" },
    ]);
    expect(await view(other.id)).toMatchObject({ status: "running" });
  });

  test("everything, once its attempt has ended: the token alone is not enough", async () => {
    const ended = await running();
    const old = await jobTokenOf(hub, ended);
    const [url] = await presignForJob(hub, ended, { ...file, method: "PUT", ...facts });
    await hub.must("POST", `/jobs/${ended.id}/release`, { token: hub.admin, body: ended.fence });
    for (const again of [false, true]) {
      if (again) await claimJob(hub, { workerId: ended.fence.worker_id, type: ended.type });
      expect(await callDocker(ended.id, "start", old)).toMatchObject({ status: 409, code: "LEASE_LOST" });
      expect(await asks(ended, old, { ...file, method: "PUT" })).toMatchObject({ status: 409 });
      expect(await callDocker(ended.id, "complete", old, { success: true })).toMatchObject({ status: 409 });
      // M-04: nor does a URL that it was given.
      expect(await put(hub, url!, text)).toMatchObject({ status: 409, code: "LEASE_LOST" });
    }
  });
});

describe("a job token that verifies and that the hub has not made is a sign that the key has leaked", () => {
  test.each([
    ["an attempt that never was", { attempt: 7 }],
    ["an attempt before the first", { attempt: 0 }],
    ["another worker", { workerId: "mallory" }],
    ["a wider policy", { policy: [{ folderId: "results", prefix: "", method: "PUT" }] }],
  ])("%s", async (_, change) => {
    const held = await running();
    const seq = lastSeq(hub.home);
    const token = await forged(held, change);
    expect(await callDocker(held.id, "complete", token, { success: true })).toMatchObject({ status: 401 });
    expect(readEvents(hub.home, seq)).toMatchObject([
      { event: "KEY_COMPROMISE_SUSPECTED", job_id: held.id, details: { violation_type: "FORGED_JOB_TOKEN" } },
    ]);
    expect(await view(held.id)).toMatchObject({ status: "running" });
  });

  test("one of another tenant does not find the job", async () => {
    const held = await running();
    const token = await forged(held, { tenantId: "globex" });
    expect(await callDocker(held.id, "start", token)).toMatchObject({ status: 404 });
  });
});

describe("the files of an attempt", () => {
  test("cannot be read before it has ended, and then by those who may read the job", async () => {
    const held = await running();
    const stored = await uploadForJob(hub, held, { ...file, bytes: text });
    const get = { token: tokens.alice, body: [{ ...file, method: "GET" }] };
    expect(await artifactsOf(held.id)).toEqual([]);
    expect(await hub.call("POST", "/files/presigned-urls", get)).toMatchObject({ status: 404 });
    expect(await result(held, [stored])).toMatchObject({ status: 200 });
    expect(await artifactsOf(held.id)).toEqual([{ ...stored, path: "a.txt", available: true }]);
    expect((await download(held.id, "runs/1/a.txt")).text).toBe("forty-two");
    expect((await download(held.id, "runs%2F1%2Fa.txt")).text).toBe("forty-two");
    expect(await download(held.id, "runs/1/b.txt")).toMatchObject({ status: 404 });
    const [url] = await presign(hub, tokens.alice, { ...file, method: "GET" });
    expect((await hub.call("GET", pathOf(url!))).text).toBe("forty-two");
    expect(await hub.call("GET", `/jobs/${held.id}/artifacts`, { token: tokens.bob })).toMatchObject({
      status: 403,
    });
    expect(await hub.call("GET", `/jobs/${held.id}/artifacts`, { token: tokens.eve })).toMatchObject({
      status: 404,
    });
  });

  test("M-04: are not changed by its URLs after the end", async () => {
    const held = await running();
    const [used, unused] = await presignForJob(
      hub,
      held,
      { ...file, method: "PUT", ...facts },
      { ...file, method: "PUT", size: 5, sha256: sha256Hex("other") },
    );
    expect(await put(hub, used!, text)).toMatchObject({ status: 201 });
    await result(held, [{ folder_id: "results", object_key: "runs/1/a.txt", ...facts }]);
    for (const url of [used!, unused!]) {
      expect(await put(hub, url, Buffer.from("other"))).toMatchObject({ status: 409, code: "LEASE_LOST" });
    }
    expect((await download(held.id, "runs/1/a.txt")).text).toBe("forty-two");
  });

  test("are the job's own, although another job has stored others under the same key", async () => {
    const [first, second] = [await running(), await running()];
    const one = await uploadForJob(hub, first, { ...file, bytes: Buffer.from("first") });
    const two = await uploadForJob(hub, second, { ...file, bytes: Buffer.from("second") });
    await result(first, [one]);
    await result(second, [two]);
    expect((await download(first.id, "runs/1/a.txt")).text).toBe("first");
    expect((await download(second.id, "runs/1/a.txt")).text).toBe("second");
    const [url] = await presign(hub, tokens.alice, { ...file, method: "GET" });
    expect((await hub.call("GET", pathOf(url!))).text).toBe("second");
  });

  test("of an earlier attempt are not those of the next", async () => {
    const held = await running({ max_attempts: 2 });
    const stored = await uploadForJob(hub, held, { ...file, bytes: text });
    await hub.must("POST", `/jobs/${held.id}/fail`, {
      token: tokens.worker,
      body: { ...held.fence, reason: "it broke", output_files: [stored] },
    });
    const again = await claimJob(hub, { workerId: held.fence.worker_id, type: held.type });
    expect(await result(again, [stored])).toMatchObject({ status: 409, code: "FILES_INCOMPLETE" });
    const other = await uploadForJob(hub, again, { ...file, bytes: Buffer.from("again") });
    expect(await result(again, [other])).toMatchObject({ status: 200 });
    expect((await download(held.id, "runs/1/a.txt")).text).toBe("again");
  });

  test("that were deleted are listed as not available", async () => {
    const held = await running();
    const stored = await uploadForJob(hub, held, {
      folderId: "results",
      objectKey: "runs/1/gone",
      bytes: text,
    });
    await result(held, [stored]);
    const [url] = await presign(hub, tokens.alice, {
      folderId: "results",
      objectKey: "runs/1/gone",
      method: "DELETE",
    });
    await hub.must("DELETE", pathOf(url!));
    expect(await artifactsOf(held.id)).toEqual([{ ...stored, path: "gone", available: false }]);
    expect(await download(held.id, "runs/1/gone")).toMatchObject({ status: 410, code: "FILE_REMOVED" });
  });
});

describe("a job that acts for itself", () => {
  test("starts, puts its files and reports its result", async () => {
    const held = await claimedJob(hub, { token: tokens.alice, output_location });
    const token = await jobTokenOf(hub, held);
    expect(await callDocker(held.id, "start", token)).toMatchObject({ status: 204 });
    expect(await view(held.id)).toMatchObject({ status: "running" });
    await uploadForJob(hub, held, { ...file, bytes: text });
    const body = { success: true, result: { answer: 42 }, outputFiles: [file] };
    const answer = await callDocker(held.id, "complete", token, body);
    expect(answer.json()).toEqual({ status: "completed" });
    expect(await view(held.id)).toMatchObject({
      status: "completed",
      result: { answer: 42 },
      output_files: [{ folder_id: "results", object_key: "runs/1/a.txt", ...facts }],
    });
    expect((await download(held.id, "runs/1/a.txt")).text).toBe("forty-two");
  });

  test("may report its result again, because the answer may have been lost, but no other one", async () => {
    const held = await claimedJob(hub, { token: tokens.alice, output_location });
    const token = await jobTokenOf(hub, held);
    await uploadForJob(hub, held, { ...file, bytes: text });
    const body = { success: true, result: { answer: 42 }, outputFiles: [file] };
    await callDocker(held.id, "complete", token, body);
    const before = lastSeq(hub.home);
    const again = await callDocker(held.id, "complete", token, body);
    expect(again).toMatchObject({ status: 200 });
    expect(again.json()).toEqual({ status: "completed" });
    expect(readEvents(hub.home, before)).toEqual([]);
    const other = await callDocker(held.id, "complete", token, { ...body, result: 7 });
    expect(other).toMatchObject({ status: 409, code: "RESULT_CONFLICT" });
    expect(await view(held.id)).toMatchObject({ status: "completed", result: { answer: 42 } });
  });

  test("F-50: cannot complete with a file that has not arrived", async () => {
    const held = await running();
    const [url] = await presignForJob(hub, held, { ...file, method: "PUT", ...facts });
    await put(hub, url!, text.subarray(0, 4), { "Content-Range": "bytes 0-3/9" });
    const token = await jobTokenOf(hub, held);
    const body = { success: true, outputFiles: [file] };
    expect(await callDocker(held.id, "complete", token, body)).toMatchObject({
      status: 409,
      code: "FILES_INCOMPLETE",
    });
    expect(await view(held.id)).toMatchObject({ status: "running" });
    const failure = { code: "UPLOAD_FAILED", message: "a.txt did not arrive" };
    await callDocker(held.id, "complete", token, { success: false, result: 7, error: failure });
    expect(await view(held.id)).toMatchObject({
      partial_result: 7,
      fail_history: [{ detail: "UPLOAD_FAILED" }],
    });
  });

  test("may not end itself as cancelled or as an attack", async () => {
    for (const code of ["CANCELLED", "SECURITY_VIOLATION", "INVALID_JOB", "SOMETHING_OF_ITS_OWN"]) {
      const held = await running({ max_attempts: 1 });
      const token = await jobTokenOf(hub, held);
      await callDocker(held.id, "complete", token, { success: false, error: { code, message: "no" } });
      expect(await view(held.id)).toMatchObject({ status: "failed", fail_code: "EXECUTION_ERROR" });
    }
  });

  test("is acted for by an administrator, who means the current attempt", async () => {
    const held = await running();
    const answer = await callDocker(held.id, "complete", hub.admin, { success: true, result: 1 });
    expect(answer.json()).toEqual({ status: "completed" });
  });
});

test("a token in a query or a cookie opens nothing", async () => {
  const held = await running();
  const token = await jobTokenOf(hub, held);
  const path = `/docker/jobs/${held.id}/start?token=${token}`;
  expect(await hub.call("POST", path, { headers: octets })).toMatchObject({ status: 401 });
});
