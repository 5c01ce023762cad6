import { beforeEach, describe, expect, test } from "vitest";
import type { ObjectPlace, UploadUrls } from "../../src/objects/objects.ts";
import { copyObject } from "../../src/objects/s3/copy-object.ts";
import { S3Calls } from "../../src/objects/s3/s3-calls.ts";
import { S3Objects, type S3Options } from "../../src/objects/s3/s3-objects.ts";
import { listParts } from "../../src/objects/s3/upload-parts.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { startS3Server } from "../support/s3-server.ts";
import { startedForAll } from "../support/use-hub.ts";

const s3 = startedForAll(startS3Server);
const text = Buffer.from("forty-two");
const whole = { size: text.length, sha256: sha256Hex(text) };
let made = 0;

beforeEach(() => {
  s3.proxy.fault = undefined;
});

function objects(options: S3Options = {}, aheadMs = 0): S3Objects {
  const clock = { ...systemClock, nowMs: () => Date.now() + aheadMs, sleep: async () => {} };
  return new S3Objects(s3.settings, clock, options);
}

function newPlace(objectKey = "runs/1/a b+c=@.txt".replace(" ", "_")): ObjectPlace {
  const id = `0198c0de-0000-7000-8000-${String(++made).padStart(12, "0")}`;
  return { id, tenantId: "acme", folderId: "results", objectKey, storeUpload: null, storedAs: null };
}

function send(url: string, body: Uint8Array, headers: Record<string, string> = {}, method = "PUT") {
  return fetch(url, { method, headers, body: method === "GET" ? null : body, redirect: "manual" });
}

function urlsFor(place: ObjectPlace, facts = whole, at = objects()): Promise<UploadUrls> {
  return at.uploadUrls(place, { ...facts, expiresInSec: 900 });
}

/** A file that was put and checked. */
async function stored(place = newPlace()): Promise<ObjectPlace> {
  const { url, headers } = await urlsFor(place);
  expect((await send(url, text, headers)).status).toBe(200);
  const storedAs = await objects().complete(place, { ...whole, parts: [] });
  await objects().tidy({ ...place, storedAs });
  return { ...place, storedAs };
}

function keysOf({ id }: ObjectPlace): string[] {
  return s3.keys().filter((key) => key.includes(id));
}

async function read(place: ObjectPlace): Promise<string> {
  return (await fetch(await objects().downloadUrl(place, { expiresInSec: 60 }))).text();
}

test("a store that can be used passes the check, and one with another key does not", async () => {
  await objects().check();
  expect(s3.keys()).toEqual([]);
  const stranger = new S3Objects({ ...s3.settings, secretKey: "another" }, systemClock);
  await expect(stranger.check()).rejects.toMatchObject({
    code: "FILES_UNAVAILABLE",
    details: { reason: expect.stringContaining("SignatureDoesNotMatch") },
  });
});

test("a file is put, checked, copied to a place of its own, read and removed", async () => {
  const place = await stored();
  expect(await read(place)).toBe("forty-two");
  expect(s3.keys()).toEqual([`acme/results/${place.id}/${place.storedAs}/${place.objectKey}`]);
  expect(await objects().has(place, text.length)).toBe(true);
  await objects().remove(place);
  expect(s3.keys()).toEqual([]);
  await objects().remove(place);
});

describe("M-04: a URL is refused by the store", () => {
  const refusals: [string, (urls: UploadUrls) => Promise<Response>][] = [
    ["with another method", ({ url, headers }) => send(url, text, headers, "DELETE")],
    [
      "with another size",
      ({ url, headers }) => send(url, Buffer.from("x"), { ...headers, "content-length": "1" }),
    ],
    [
      "with another checksum",
      ({ url, headers }) => send(url, text, { ...headers, "x-amz-checksum-sha256": "A".repeat(43) }),
    ],
    ["without its headers", ({ url }) => send(url, text)],
    ["for another key", ({ url, headers }) => send(url.replace("/.uploads/", "/.other/"), text, headers)],
    ["for another tenant", ({ url, headers }) => send(url.replace("/acme/", "/globex/"), text, headers)],
    ["for the place that is read", ({ url, headers }) => send(url.replace("/.uploads/", "/"), text, headers)],
    [
      "with another expiry",
      ({ url, headers }) => send(url.replace("X-Amz-Expires=900", "X-Amz-Expires=9000"), text, headers),
    ],
  ];
  test.each(refusals)("%s", async (_, act) => {
    const before = s3.keys();
    expect((await act(await urlsFor(newPlace()))).status).toBe(403);
    expect(s3.keys()).toEqual(before);
  });

  test("when it has expired", async () => {
    const { url, headers } = await urlsFor(newPlace(), whole, objects({}, -901_000));
    expect((await send(url, text, headers)).status).toBe(403);
    const place = await stored();
    const late = await objects({}, -61_000).downloadUrl(place, { expiresInSec: 60 });
    expect((await fetch(late)).status).toBe(403);
  });
});

test("M-04: a URL that is used again after the end changes nothing that anybody reads", async () => {
  const begun = newPlace();
  const { url, headers } = await urlsFor(begun);
  await send(url, text, headers);
  const place = { ...begun, storedAs: await objects().complete(begun, { ...whole, parts: [] }) };
  // The same bytes: the signature allows no others.
  expect((await send(url, text, headers)).status).toBe(200);
  expect(await read(place)).toBe("forty-two");
  await objects().complete(begun, { ...whole, parts: [] });
  await objects().remove(place);
  expect(keysOf(place)).toEqual([]);
});

describe("O-01: of two hubs that complete the same upload", () => {
  /** Puts other bytes where the copy is made from, as no caller can with the URL that it was given. */
  async function putOther(place: ObjectPlace): Promise<void> {
    const other = Buffer.from("forty-one");
    const forged = await urlsFor(place, { size: 9, sha256: sha256Hex(other) });
    expect((await send(forged.url, other, forged.headers)).status).toBe(200);
  }

  test("each has a copy of its own, and a wrong one takes nothing from the other", async () => {
    const place = newPlace();
    const { url, headers } = await urlsFor(place);
    await send(url, text, headers);
    const [looked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    // The second hub has looked, and its copy waits until the first one has ended.
    let isFirst = true;
    s3.proxy.fault = (method, path) => {
      if (!isFirst || method !== "PUT" || !path.includes(`/${place.id}/`)) return undefined;
      isFirst = false;
      looked.resolve();
      return { kind: "status", status: 503, code: "SlowDown" };
    };
    const waiting = { ...systemClock, sleep: () => go.promise };
    const second = new S3Objects(s3.settings, waiting).complete(place, { ...whole, parts: [] });
    const refused = expect(second).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
    await looked.promise;
    const file = { ...place, storedAs: await objects().complete(place, { ...whole, parts: [] }) };
    await putOther(place);
    go.resolve();
    await refused;
    expect(await read(file)).toBe("forty-two");
    expect(keysOf(place)).toEqual([`acme/results/${place.id}/${file.storedAs}/${place.objectKey}`]);
  });

  test("a copy of one that was killed before its row had the name is removed by the other", async () => {
    const place = newPlace();
    const { url, headers } = await urlsFor(place);
    await send(url, text, headers);
    await objects().complete(place, { ...whole, parts: [] });
    const file = { ...place, storedAs: await objects().complete(place, { ...whole, parts: [] }) };
    expect(keysOf(place)).toHaveLength(3);
    await objects().tidy(file);
    expect(keysOf(place)).toEqual([`acme/results/${place.id}/${file.storedAs}/${place.objectKey}`]);
    expect(await read(file)).toBe("forty-two");
  });
});

test("a file of version 0.1 is where that version put it", async () => {
  const place = await stored(newPlace("a.txt"));
  const old = { ...place, id: `${place.id.slice(0, -4)}0001`, storedAs: null };
  const from = `acme/results/${place.id}/${place.storedAs}/a.txt`;
  const copy = { bucket: s3.settings.bucket, from, size: 9, to: `acme/results/${old.id}/a.txt` };
  await copyObject(new S3Calls(s3.settings, systemClock), copy);
  expect(await objects().has(old, 9)).toBe(true);
  expect(await read(old)).toBe("forty-two");
  await objects().remove(old);
  expect(keysOf(old)).toEqual([]);
});

test("two calls that complete the same file at the same time copy and check it once", async () => {
  const place = newPlace();
  const { url, headers } = await urlsFor(place);
  await send(url, text, headers);
  s3.proxy.seen.length = 0;
  const at = objects();
  await Promise.all([1, 2].map(() => at.complete(place, { ...whole, parts: [] })));
  expect(s3.proxy.seen.filter((line) => line.startsWith("PUT"))).toHaveLength(1);
});

describe("what was put is not accepted", () => {
  test("when there is nothing", async () => {
    const call = objects().complete(newPlace(), { ...whole, parts: [] });
    await expect(call).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test.each([
    ["size", { size: 8, sha256: whole.sha256 }],
    ["hash", { size: 9, sha256: sha256Hex("forty-one") }],
  ])("F-50: when it has another %s, and nothing of it stays", async (_, announced) => {
    const place = newPlace();
    const { url, headers } = await urlsFor(place);
    await send(url, text, headers);
    const call = objects().complete(place, { ...announced, parts: [] });
    await expect(call).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
    expect(keysOf(place)).toEqual([]);
  });

  test("when it is replaced before it is copied, however late", async () => {
    const place = newPlace();
    const { url, headers } = await urlsFor(place);
    await send(url, text, headers);
    const other = Buffer.from("forty-one");
    const forged = await urlsFor(place, { size: 9, sha256: sha256Hex(other) });
    const copying = Promise.withResolvers<void>();
    let isHeld = true;
    s3.proxy.fault = (method, path) => {
      if (method !== "PUT" || !path.includes(`/${place.id}/`) || !isHeld) return undefined;
      copying.resolve();
      return { kind: "status", status: 503, code: "SlowDown" };
    };
    const slow = { ...systemClock, sleep: () => copying.promise.then(() => replaced.promise) };
    const replaced = Promise.withResolvers<void>();
    const completed = new S3Objects(s3.settings, slow).complete(place, { ...whole, parts: [] });
    const refused = expect(completed).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
    await copying.promise;
    await send(forged.url, other, forged.headers);
    isHeld = false;
    replaced.resolve();
    await refused;
    expect(keysOf(place)).toEqual([]);
  });
});

describe("F-50: the store", () => {
  const complete = async (place: ObjectPlace): Promise<ObjectPlace> => ({
    ...place,
    storedAs: await objects().complete(place, { ...whole, parts: [] }),
  });
  async function put(): Promise<ObjectPlace> {
    const place = newPlace();
    const { url, headers } = await urlsFor(place);
    await send(url, text, headers);
    s3.proxy.seen.length = 0;
    return place;
  }

  test("that answers 500 is asked again, at most three times in all", async () => {
    const place = await put();
    let left = 2;
    s3.proxy.fault = () => (left-- > 0 ? { kind: "status", status: 500, code: "InternalError" } : undefined);
    expect(await read(await complete(place))).toBe("forty-two");
    const other = await put();
    s3.proxy.fault = () => ({ kind: "status", status: 500, code: "InternalError" });
    await expect(complete(other)).rejects.toMatchObject({ code: "FILES_UNAVAILABLE" });
    expect(s3.proxy.seen).toHaveLength(3);
  });

  test("that answers 403 is not asked again, and the reason is for the log only", async () => {
    const place = await put();
    s3.proxy.fault = () => ({ kind: "status", status: 403, code: "AccessDenied" });
    const failed = await complete(place).catch((error) => error);
    expect(failed).toMatchObject({
      code: "FILES_UNAVAILABLE",
      details: { reason: expect.stringContaining("403") },
    });
    expect(failed.message).not.toContain("acme");
    expect(s3.proxy.seen).toHaveLength(1);
  });

  test("that breaks the connection while the file is checked is not believed", async () => {
    const place = await put();
    s3.proxy.fault = (method) => (method === "GET" ? { kind: "cut answer", afterBytes: 4 } : undefined);
    await expect(complete(place)).rejects.toMatchObject({ code: "FILES_UNAVAILABLE" });
    s3.proxy.fault = undefined;
    expect(await read(await complete(place))).toBe("forty-two");
  });

  test("that answers byte by byte is waited for", async () => {
    const place = await put();
    s3.proxy.fault = () => ({ kind: "slow answer" });
    expect(await read(await complete(place))).toBe("forty-two");
  });

  test("that redirects is not followed", async () => {
    const place = await put();
    s3.proxy.fault = () => ({ kind: "redirect", to: "http://169.254.169.254/" });
    await expect(complete(place)).rejects.toMatchObject({ code: "FILES_UNAVAILABLE" });
    expect(s3.proxy.seen).toHaveLength(1);
  });

  test("that answers 200 with an error in its body has not copied anything", async () => {
    const place = await put();
    s3.proxy.fault = (method) =>
      method === "PUT" ? { kind: "status", status: 200, code: "SlowDown" } : undefined;
    await expect(complete(place)).rejects.toMatchObject({ code: "FILES_UNAVAILABLE" });
  });

  test("that is away is FILES_UNAVAILABLE", async () => {
    const away = new S3Objects(
      { ...s3.settings, endpoint: "http://127.0.0.1:1" },
      { ...systemClock, sleep: async () => {} },
    );
    const call = away.complete(newPlace(), { ...whole, parts: [] });
    await expect(call).rejects.toMatchObject({ code: "FILES_UNAVAILABLE" });
  });
});

describe("a large file is put in parts", () => {
  const part = 1024 ** 2;
  const large = Buffer.alloc(2.5 * part, "0123456789abcdef");
  const facts = { size: large.length, sha256: sha256Hex(large) };
  const inParts = { wholeBytesMax: part, partBytesMin: part };

  /** Puts these parts, and gives what the store answered. */
  async function putParts({ parts = [] }: UploadUrls, numbers: number[]) {
    const answers = [];
    for (const { number, offset, size, url } of parts.filter((one) => numbers.includes(one.number))) {
      const answer = await send(url, large.subarray(offset, offset + size));
      expect(answer.status).toBe(200);
      answers.push({ number, etag: answer.headers.get("etag")! });
    }
    return answers;
  }

  async function begun() {
    const place = newPlace();
    const urls = await objects(inParts).uploadUrls(place, { ...facts, expiresInSec: 900 });
    return { urls, place: { ...place, storeUpload: urls.storeUpload ?? null } };
  }

  test("whose URLs are for their sizes and numbers", async () => {
    const { urls } = await begun();
    expect(urls.parts!.map(({ number, offset, size }) => [number, offset, size])).toEqual([
      [1, 0, part],
      [2, part, part],
      [3, 2 * part, part / 2],
    ]);
    const [first, second] = urls.parts!;
    expect((await send(first!.url, Buffer.from("x"))).status).toBe(403);
    expect(
      (await send(first!.url.replace("partNumber=1", "partNumber=2"), large.subarray(0, part))).status,
    ).toBe(403);
    expect((await send(second!.url, large.subarray(0, part), {}, "DELETE")).status).toBe(403);
  });

  test("and goes on with new URLs after a connection was cut", async () => {
    const { urls, place } = await begun();
    const first = await putParts(urls, [1]);
    s3.proxy.fault = (method) =>
      method === "PUT" ? { kind: "cut request", afterBytes: part / 2 } : undefined;
    await expect(send(urls.parts![1]!.url, large.subarray(part, 2 * part))).rejects.toThrow();
    s3.proxy.fault = undefined;
    const fresh = await objects(inParts).uploadUrls(place, { ...facts, expiresInSec: 900 });
    expect(fresh.storeUpload).toBe(place.storeUpload);
    expect(fresh.parts!.map(({ etag }) => etag)).toEqual([first[0]!.etag, undefined, undefined]);
    const rest = await putParts(fresh, [2, 3]);
    const upload = { ...facts, parts: [...rest, ...first] };
    const storedAs = await objects(inParts).complete(place, upload);
    const answer = await fetch(await objects().downloadUrl({ ...place, storedAs }, { expiresInSec: 60 }));
    expect(sha256Hex(Buffer.from(await answer.arrayBuffer()))).toBe(facts.sha256);
    // Once more, after a lost answer.
    await objects(inParts).complete(place, upload);
  });

  test("and says of every part whether it has arrived, however many there are", async () => {
    const place = newPlace();
    const small = { wholeBytesMax: part / 4, partBytesMin: part / 4 };
    const urls = await objects(small).uploadUrls(place, { ...facts, expiresInSec: 900 });
    const begunPlace = { ...place, storeUpload: urls.storeUpload! };
    const put = await putParts(urls, [1, 2, 3, 5, 6, 7, 10]);
    const fresh = await objects(small).uploadUrls(begunPlace, { ...facts, expiresInSec: 900 });
    const there = fresh.parts!.flatMap(({ number, etag }) => (etag === undefined ? [] : { number, etag }));
    expect(there).toEqual(put);
    const parts = [...there, ...(await putParts(fresh, [4, 8, 9]))];
    await objects(small).complete(begunPlace, { ...facts, parts });
  });

  test("and has nothing more to be put when its parts were joined and the answer was lost", async () => {
    const { urls, place } = await begun();
    const parts = await putParts(urls, [1, 2, 3]);
    s3.proxy.fault = (method, path) =>
      method === "PUT" && path.includes(`/${place.id}/`)
        ? { kind: "status", status: 503, code: "SlowDown" }
        : undefined;
    await expect(objects(inParts).complete(place, { ...facts, parts })).rejects.toMatchObject({
      code: "FILES_UNAVAILABLE",
    });
    s3.proxy.fault = undefined;
    const joined = await objects(inParts).uploadUrls(place, { ...facts, expiresInSec: 900 });
    expect(joined).toMatchObject({ parts: [], storeUpload: place.storeUpload });
    const storedAs = await objects(inParts).complete(place, { ...facts, parts: [] });
    const file = { ...place, storedAs };
    await objects().tidy(file);
    const done = await objects(inParts).uploadUrls(file, { ...facts, expiresInSec: 900 });
    expect(done.parts).toEqual([]);
  });

  test("and begins again when the store has removed what there was", async () => {
    const { urls, place } = await begun();
    await putParts(urls, [1]);
    await objects().remove(place);
    const fresh = await objects(inParts).uploadUrls(place, { ...facts, expiresInSec: 900 });
    expect(fresh.storeUpload).not.toBe(place.storeUpload);
    expect(fresh.parts!.map(({ etag }) => etag)).toEqual([undefined, undefined, undefined]);
  });

  test("and all of it is put again where the store cannot say what it has", async () => {
    const { urls, place } = await begun();
    await putParts(urls, [1]);
    s3.proxy.fault = (method) =>
      method === "GET" ? { kind: "status", status: 403, code: "AccessDenied" } : undefined;
    const fresh = await objects(inParts).uploadUrls(place, { ...facts, expiresInSec: 900 });
    expect(fresh.storeUpload).toBe(place.storeUpload);
    expect(fresh.parts!.map(({ etag }) => etag)).toEqual([undefined, undefined, undefined]);
  });

  test("and is not accepted when parts are missing or mixed up", async () => {
    const { urls, place } = await begun();
    const parts = await putParts(urls, [1, 3]);
    const call = objects(inParts).complete(place, { ...facts, parts });
    await expect(call).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
    expect(keysOf(place)).toEqual([]);
    await objects(inParts).remove(place);
  });
});

test("what is too large to be copied at once is copied in parts", async () => {
  const place = await stored(newPlace("a.txt"));
  const from = `acme/results/${place.id}/${place.storedAs}/${place.objectKey}`;
  const calls = new S3Calls(s3.settings, systemClock);
  const copy = { ...place, id: `${place.id.slice(0, -4)}copy` };
  const to = `acme/results/${copy.id}/${copy.storedAs}/${copy.objectKey}`;
  await copyObject(
    calls,
    { bucket: s3.settings.bucket, from, size: 9, to },
    { wholeBytesMax: 8, partBytes: 4 },
  );
  expect(await read(copy)).toBe("forty-two");
});

test.each([
  ["one of its parts", "PUT"],
  ["their joining", "POST"],
])("parts of a copy do not stay in the bucket if the store refuses %s", async (_, refused) => {
  const place = await stored(newPlace("a.txt"));
  const calls = new S3Calls(s3.settings, { ...systemClock, sleep: async () => {} });
  const to = `acme/results/${place.id}/copy`;
  const uploads = new Set<string>();
  s3.proxy.fault = (method, path) => {
    const query = new URL(path, "http://store").searchParams;
    const uploadId = query.get("uploadId");
    if (uploadId === null) return undefined;
    uploads.add(uploadId);
    const isRefused = method === refused && query.get("partNumber") !== "1";
    return isRefused ? { kind: "status", status: 500, code: "InternalError" } : undefined;
  };
  const copy = {
    bucket: s3.settings.bucket,
    from: `acme/results/${place.id}/${place.storedAs}/${place.objectKey}`,
    size: 9,
    to,
  };
  const copying = copyObject(calls, copy, { wholeBytesMax: 8, partBytes: 4 });
  await expect(copying).rejects.toMatchObject({
    code: "FILES_UNAVAILABLE",
    details: { call: `${refused} ${to}` },
  });
  s3.proxy.fault = undefined;
  expect(uploads.size).toBe(1);
  for (const uploadId of uploads) expect(await listParts(calls, to, uploadId)).toBeNull();
});

test("a key that is too long together with its tenant and folder is refused before anything is put", async () => {
  const long = newPlace(Array.from({ length: 10 }, () => "a".repeat(99)).join("/"));
  await expect(urlsFor(long)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});
