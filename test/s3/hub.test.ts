import { beforeEach, describe, expect, test } from "vitest";
import type { ArtifactList, FileUrl } from "../../src/contract/shapes/storage-shapes.ts";
import { S3Calls } from "../../src/objects/s3/s3-calls.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { errorOf } from "../support/call-http.ts";
import { jobTokenOf, pathOf, presign, presignForJob } from "../support/files.ts";
import { stillEnv } from "../support/hub.ts";
import { jobReader, runningJob } from "../support/jobs.ts";
import { startMemoryHub } from "../support/memory-hub.ts";
import { startS3Server } from "../support/s3-server.ts";
import { startedForAll, tokensOf } from "../support/use-hub.ts";

const s3 = startedForAll(startS3Server);
const hub = startedForAll(() => startMemoryHub({ ...stillEnv, ...s3.env }));
const tokens = tokensOf(hub);
const view = jobReader(hub);

const text = Buffer.from("forty-two");
const facts = { size: text.length, sha256: sha256Hex(text) };
const key = { folderId: "inputs", objectKey: "data/a.csv" };

beforeEach(() => {
  s3.proxy.fault = undefined;
});

function put({ url, headers }: FileUrl, body: Uint8Array = text) {
  return fetch(url, { method: "PUT", headers: headers ?? {}, body: new Uint8Array(body) });
}

function complete({ complete_url }: FileUrl) {
  return hub.call("POST", pathOf({ url: complete_url! }), { body: {} });
}

async function download(token: string, file = key) {
  const [get] = await presign(hub, token, { ...file, method: "GET" });
  return fetch(get!.url);
}

test("a URL to put needs a size and a hash, because the store is told them", async () => {
  for (const missing of [{ size: 9 }, { sha256: facts.sha256 }]) {
    const body = [{ ...key, method: "PUT", ...missing }];
    const answer = await hub.call("POST", "/files/presigned-urls", { token: tokens.alice, body });
    expect(answer).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    expect(errorOf(answer.text).message).toMatch(/^\[0\]\.(size|sha256): is required/);
  }
});

describe("a user's file", () => {
  test("goes to the store and comes from there, and the hub passes on not a byte of it", async () => {
    const [url] = await presign(hub, tokens.alice, { ...key, method: "PUT", ...facts });
    expect(url!.url.startsWith(s3.settings.endpoint)).toBe(true);
    const { searchParams } = new URL(url!.url);
    expect(Number(searchParams.get("X-Amz-Expires"))).toBeLessThanOrEqual(15 * 60);
    expect(searchParams.get("X-Amz-SignedHeaders")).toBe("content-length;host;x-amz-checksum-sha256");
    expect((await put(url!)).status).toBe(200);
    const done = await complete(url!);
    expect(done.json()).toEqual(facts);
    expect((await complete(url!)).json(), "after a lost answer").toEqual(facts);
    expect(await (await download(tokens.alice)).text()).toBe("forty-two");
    const [head] = await presign(hub, tokens.alice, { ...key, method: "HEAD" });
    expect((await hub.call("HEAD", pathOf(head!))).headers).toMatchObject({ "content-length": "9" });
  });

  test("O-01: is completed once, by however many calls at the same time and later, and keeps its bytes", async () => {
    const file = { folderId: "inputs", objectKey: "data/once.csv" };
    const [url] = await presign(hub, tokens.alice, { ...file, method: "PUT", ...facts });
    await put(url!);
    const answers = await Promise.all([1, 2, 3].map(() => complete(url!)));
    for (const answer of answers) expect(answer.json()).toEqual(facts);
    // This store does not compare the checksum in the URL with the bytes.
    expect((await put(url!, Buffer.from("forty-one"))).status).toBe(200);
    expect((await complete(url!)).json()).toEqual(facts);
    expect(await (await download(tokens.alice, file)).text()).toBe("forty-two");
    const kept = s3.keys().filter((one) => one.endsWith("data/once.csv") || one.includes("/.uploads/"));
    expect(kept).toHaveLength(1);
  });

  test("O-01: in parts is one upload, however many ask for its URLs at the same time", async () => {
    const file = { folderId: "inputs", objectKey: "data/large.bin", size: 65 * 1024 ** 2 };
    const ask = { ...file, method: "PUT", sha256: "a".repeat(64) };
    const asked = await Promise.all([1, 2, 3].map(() => presign(hub, tokens.alice, ask)));
    const uploads = asked.map(([one]) => new URL(one!.parts![0]!.url).searchParams.get("uploadId"));
    expect(new Set(uploads).size).toBe(1);
  });

  test("is found although its sender did not say that it is complete", async () => {
    const file = { folderId: "inputs", objectKey: "data/b.csv" };
    const [url] = await presign(hub, tokens.alice, { ...file, method: "PUT", ...facts });
    const ask = { token: tokens.alice, body: [{ ...file, method: "GET" }] };
    expect(await hub.call("POST", "/files/presigned-urls", ask)).toMatchObject({ status: 404 });
    await put(url!);
    expect(await (await download(tokens.alice, file)).text()).toBe("forty-two");
  });

  test("of another tenant, or of a colleague, cannot be read", async () => {
    const ask = (token: string) =>
      hub.call("POST", "/files/presigned-urls", { token, body: [{ ...key, method: "GET" }] });
    expect(await ask(tokens.bob)).toMatchObject({ status: 403 });
    expect(await ask(tokens.eve)).toMatchObject({ status: 404 });
  });

  test("that the store has lost is answered as removed, and is not redirected to", async () => {
    const file = { folderId: "inputs", objectKey: "data/lost.csv" };
    const [url] = await presign(hub, tokens.alice, { ...file, method: "PUT", ...facts });
    await put(url!);
    await complete(url!);
    const lost = s3.keys().filter((one) => one.endsWith("data/lost.csv"));
    expect(lost).toHaveLength(1);
    const calls = new S3Calls(s3.settings, systemClock);
    await calls.must({ method: "DELETE", key: lost[0]! });
    const ask = { token: tokens.alice, body: [{ ...file, method: "GET" }] };
    expect(await hub.call("POST", "/files/presigned-urls", ask)).toMatchObject({
      status: 410,
      code: "FILE_REMOVED",
    });
  });

  test("is deleted by way of the hub", async () => {
    const [url] = await presign(hub, tokens.alice, { ...key, method: "DELETE" });
    expect(await hub.call("DELETE", pathOf(url!))).toMatchObject({ status: 204 });
    const ask = { token: tokens.alice, body: [{ ...key, method: "GET" }] };
    expect(await hub.call("POST", "/files/presigned-urls", ask)).toMatchObject({ status: 404 });
  });
});

describe("a job's file", () => {
  const output_location = { folder_id: "results", prefix: "runs/1" };
  const file = { folderId: "results", objectKey: "runs/1/a.txt" };
  const reported = { folder_id: "results", object_key: "runs/1/a.txt", ...facts };

  async function started() {
    const held = await runningJob(hub, { token: tokens.alice, output_location });
    const [url] = await presignForJob(hub, held, { ...file, method: "PUT", ...facts });
    const report = () =>
      hub.call("POST", `/jobs/${held.id}/result`, {
        token: tokens.worker,
        body: { ...held.fence, result: 1, output_files: [reported] },
      });
    return { held, url: url!, report };
  }

  test("M-04: is what was copied at the end, whatever is put to its URL later", async () => {
    const { held, url, report } = await started();
    await put(url);
    // No call has completed the upload: the end of the attempt finds it.
    expect(await report()).toMatchObject({ status: 200 });
    expect((await put(url)).status).toBe(200);
    const location = (
      await hub.call("GET", `/jobs/${held.id}/artifacts/runs/1/a.txt`, { token: tokens.alice })
    ).headers["location"];
    expect(await (await fetch(String(location))).text()).toBe("forty-two");
    const { files } = (
      await hub.must("GET", `/jobs/${held.id}/artifacts`, { token: tokens.alice })
    ).json<ArtifactList>();
    expect(files).toEqual([{ ...reported, path: "a.txt", available: true }]);
    // A list is shown while the store is away, with what the hub knows itself.
    s3.proxy.fault = () => ({ kind: "status", status: 503, code: "SlowDown" });
    const away = await hub.must("GET", `/jobs/${held.id}/artifacts`, { token: tokens.alice });
    expect(away.json<ArtifactList>().files).toEqual(files);
    s3.proxy.fault = undefined;
    expect(await complete(url)).toMatchObject({ status: 200 });
  });

  test("F-50: that has not arrived refuses the end, and the job is not completed", async () => {
    const { held, report } = await started();
    expect(await report()).toMatchObject({ status: 409, code: "FILES_INCOMPLETE" });
    expect(await view(held.id)).toMatchObject({ status: "running" });
  });

  test("F-50: cannot be judged while the store is away; the worker reports again", async () => {
    const { url, report } = await started();
    await put(url);
    s3.proxy.fault = () => ({ kind: "status", status: 403, code: "AccessDenied" });
    expect(await report()).toMatchObject({ status: 503, code: "FILES_UNAVAILABLE" });
    s3.proxy.fault = undefined;
    expect(await report()).toMatchObject({ status: 200 });
  });

  test("M-04: is not completed after its attempt has ended", async () => {
    const { held, url } = await started();
    await put(url);
    await hub.must("POST", `/jobs/${held.id}/release`, { token: hub.admin, body: held.fence });
    expect(await complete(url)).toMatchObject({ status: 409, code: "LEASE_LOST" });
  });

  test("is reported by the job itself, whose hash the hub knows", async () => {
    const { held, url } = await started();
    await put(url);
    const token = await jobTokenOf(hub, held);
    const body = { success: true, outputFiles: [file] };
    await hub.must("POST", `/docker/jobs/${held.id}/complete`, { token, body });
    expect(await view(held.id)).toMatchObject({ status: "completed", output_files: [reported] });
  });
});
