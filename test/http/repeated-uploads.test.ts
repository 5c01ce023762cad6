import { readdirSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { FileUrl } from "../../src/contract/shapes/storage-shapes.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { eventually } from "../support/eventually.ts";
import { pathOf, presign, presignForJob, put, uploadForJob } from "../support/files.ts";
import { stillEnv } from "../support/hub.ts";
import { claimJob, freshName, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { startMemoryHub } from "../support/memory-hub.ts";
import { startedForAll, tokensOf } from "../support/use-hub.ts";

/** What waits between the last byte of an upload and its row. */
let beforePublish: () => Promise<void> = async () => {};
const failpoint = async (name: string): Promise<void> => {
  if (name === "upload.beforePublish") await beforePublish();
};
const hub = startedForAll(() => startMemoryHub(stillEnv, { failpoint }));
const tokens = tokensOf(hub);

const text = Buffer.from("forty-two");
const other = Buffer.from("forty-one");
const facts = { size: text.length, sha256: sha256Hex(text) };

const newKey = () => ({ folderId: "inputs", objectKey: `${freshName("twice")}.txt` });

async function urlFor(key: { folderId: string; objectKey: string }, wish: object = facts): Promise<FileUrl> {
  const [url] = await presign(hub, tokens.alice, { ...key, method: "PUT", ...wish });
  return url!;
}

async function fileAt(key: { folderId: string; objectKey: string }): Promise<string> {
  const [get] = await presign(hub, tokens.alice, { ...key, method: "GET" });
  const answer = await hub.call("GET", pathOf(get!));
  expect(answer.headers["etag"]).toBe(`"${sha256Hex(answer.bytes)}"`);
  return answer.text;
}

/** The files in the hub's storage, complete or not. */
function stored(): string[] {
  const all = readdirSync(join(hub.home, "objects"), { recursive: true, withFileTypes: true });
  return all.filter((one) => one.isFile()).map(({ name }) => name);
}

/** Sends a part of a body; resolves when the hub has it. The rest is sent, or the connection cut, when the test says so. */
async function begin(url: FileUrl, bytes: Buffer, count: number) {
  const outgoing = request({
    agent: hub.agent,
    method: "PUT",
    path: new URL(url.url).pathname,
    headers: { "Content-Length": bytes.length },
  });
  const status = new Promise<number>((resolve, reject) => {
    outgoing.on("response", (answer) => resolve(answer.resume().statusCode!));
    outgoing.on("error", reject);
  });
  status.catch(() => {});
  outgoing.write(bytes.subarray(0, count));
  await eventually(`${count} bytes have arrived`, async () => {
    return (await hub.call("HEAD", pathOf(url))).headers["upload-offset"] === String(count);
  });
  return {
    rest: () => {
      outgoing.end(bytes.subarray(count));
      return status;
    },
    cut: async () => {
      outgoing.destroy();
      await expect(status).rejects.toThrow();
    },
  };
}

describe("O-01: of two requests that send a file to the same URL at the same time", () => {
  test.each([
    ["the first ends first", "with its hash announced", facts, [0, 1]],
    ["the second ends first", "with only its size announced", { size: 9 }, [1, 0]],
    ["the first ends first", "with nothing announced", {}, [0, 1]],
  ])("%s, %s: that one is the file, and other bytes are refused", async (_, __, announced, order) => {
    const key = newKey();
    const before = stored().length;
    const url = await urlFor(key, announced);
    const bodies = order[0] === 0 ? [text, other] : [other, text];
    const sent = [await begin(url, bodies[0]!, 4), await begin(url, bodies[1]!, 5)];
    expect(await sent[order[0]!]!.rest()).toBe(201);
    expect(await fileAt(key)).toBe("forty-two");
    expect(await sent[order[1]!]!.rest()).toBe(409);
    expect(await fileAt(key)).toBe("forty-two");
    expect(stored()).toHaveLength(before + 1);
  });

  test("both are answered with 201 if they have the same bytes", async () => {
    const key = newKey();
    const before = stored().length;
    const url = await urlFor(key);
    const [a, b] = [await begin(url, text, 4), await begin(url, text, 5)];
    expect([await b.rest(), await a.rest()]).toEqual([201, 201]);
    expect(await fileAt(key)).toBe("forty-two");
    expect(stored()).toHaveLength(before + 1);
  });

  test("one that is cut takes nothing from the other, before and after its end", async () => {
    for (const isCutFirst of [true, false]) {
      const key = newKey();
      const before = stored().length;
      const url = await urlFor(key);
      const [whole, cut] = [await begin(url, text, 4), await begin(url, text, 5)];
      if (isCutFirst) await cut.cut();
      expect(await whole.rest()).toBe(201);
      if (!isCutFirst) await cut.cut();
      expect(await fileAt(key)).toBe("forty-two");
      await eventually("nothing else is stored", () => stored().length === before + 1);
    }
  });

  test("one with wrong bytes takes nothing from the other", async () => {
    const key = newKey();
    const url = await urlFor(key);
    const [right, wrong] = [await begin(url, text, 4), await begin(url, other, 5)];
    expect(await wrong.rest()).toBe(400);
    expect(await right.rest()).toBe(201);
    expect(await fileAt(key)).toBe("forty-two");
  });

  test("the row decides, however late they ask it", async () => {
    for (const [bytes, status] of [
      [other, 409],
      [text, 201],
    ] as const) {
      const key = newKey();
      const before = stored().length;
      const url = await urlFor(key, {});
      const [waits, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      beforePublish = () => {
        beforePublish = async () => {};
        waits.resolve();
        return go.promise;
      };
      const late = put(hub, url, bytes);
      await waits.promise;
      expect(await put(hub, url, text)).toMatchObject({ status: 201 });
      go.resolve();
      expect(await late).toMatchObject({ status });
      expect(await fileAt(key)).toBe("forty-two");
      expect(stored()).toHaveLength(before + 1);
    }
  });

  test("a shorter one, of a URL without a size, leaves the size of the file right", async () => {
    const key = newKey();
    const url = await urlFor(key, {});
    const long = await begin(url, text, 5);
    expect(await put(hub, url, Buffer.from("four"))).toMatchObject({ status: 201 });
    expect(await long.rest()).toBe(409);
    expect(await fileAt(key)).toBe("four");
  });
});

describe("O-01: a URL that has completed a file", () => {
  const range = (start: number, end: number) => ({ "Content-Range": `bytes ${start}-${end - 1}/9` });

  test("answers the same bytes like the first time, and refuses others", async () => {
    const key = newKey();
    const url = await urlFor(key, {});
    const before = stored().length;
    for (let time = 1; time <= 2; time++) {
      const answer = await put(hub, url, text);
      expect(answer).toMatchObject({ status: 201 });
      expect(answer.json()).toEqual(facts);
    }
    expect((await put(hub, url, text.subarray(4), range(4, 9))).json()).toEqual(facts);
    for (const bytes of [other, Buffer.from("x"), Buffer.alloc(0), Buffer.alloc(100)])
      expect(await put(hub, url, bytes)).toMatchObject({ status: 409, code: "STATE_CONFLICT" });
    expect(await put(hub, url, other.subarray(4), range(4, 9))).toMatchObject({ status: 409 });
    expect(await put(hub, url, text.subarray(4, 8), { "Content-Range": "bytes 4-7/8" })).toMatchObject({
      status: 409,
    });
    expect(await fileAt(key)).toBe("forty-two");
    expect(stored()).toHaveLength(before + 1);
  });

  test("does not bring its file back when a new URL has replaced it", async () => {
    const key = newKey();
    const [first, second] = [await urlFor(key, {}), await urlFor(key, {})];
    expect(await put(hub, first, text)).toMatchObject({ status: 201 });
    expect(await put(hub, second, other)).toMatchObject({ status: 201 });
    expect(await put(hub, first, text)).toMatchObject({ status: 409 });
    expect(await fileAt(key)).toBe("forty-one");
    expect(await put(hub, second, other)).toMatchObject({ status: 201 });
  });

  test("of a job answers alike, and what the job lists is what it had put", async () => {
    const output_location = { folder_id: "results" };
    const held = await runningJob(hub, { token: tokens.alice, output_location });
    const file = { folderId: "results", objectKey: "a.txt" };
    const [url] = await presignForJob(hub, held, { ...file, method: "PUT", ...facts });
    for (const status of [201, 201]) expect(await put(hub, url!, text)).toMatchObject({ status });
    expect(await put(hub, url!, other)).toMatchObject({ status: 409, code: "STATE_CONFLICT" });
    const listed = await uploadForJob(hub, held, { ...file, bytes: text });
    const body = { ...held.fence, result: 1, output_files: [listed] };
    await hub.must("POST", `/jobs/${held.id}/result`, { token: hub.admin, body });
    expect(await put(hub, url!, text)).toMatchObject({ status: 409, code: "LEASE_LOST" });
    const answer = await hub.call("GET", `/jobs/${held.id}/artifacts/a.txt`, { token: tokens.alice });
    const bytes = await hub.call("GET", pathOf({ url: String(answer.headers["location"]) }));
    expect(bytes.text).toBe("forty-two");
  });
});

test("O-01: a waiting job gets the file that it names, although a new URL has replaced it", async () => {
  const key = newKey();
  expect(await put(hub, await urlFor(key), text)).toMatchObject({ status: 201 });
  const input = { folder_id: key.folderId, object_key: key.objectKey, sha256: facts.sha256, path: "a" };
  const run = { kind: "exec", argv: ["true"], inputs: [input] };
  const { id, type } = await submitJob(hub, { token: tokens.alice, run });
  expect(await put(hub, await urlFor(key, {}), other)).toMatchObject({ status: 201 });
  expect(await fileAt(key)).toBe("forty-one");
  const held = await claimJob(hub, { workerId: await registerWorker(hub, { document_format: 100 }), type });
  expect(held.id).toBe(id);
  const [url] = await presignForJob(hub, held, { ...key, method: "GET" });
  expect((await hub.call("GET", pathOf(url!))).text).toBe("forty-two");
});

test("O-01: what was left when the hub was killed before the row was asked does not disturb the next try", async () => {
  const key = newKey();
  const before = stored().length;
  const url = await urlFor(key);
  beforePublish = () => Promise.reject(new Error("killed"));
  onTestFinished(() => {
    beforePublish = async () => {};
  });
  expect(await put(hub, url, text)).toMatchObject({ status: 500 });
  expect(stored()).toHaveLength(before + 1);
  beforePublish = async () => {};
  expect(await put(hub, url, text)).toMatchObject({ status: 201 });
  expect(await fileAt(key)).toBe("forty-two");
  expect(stored()).toHaveLength(before + 1);
});
