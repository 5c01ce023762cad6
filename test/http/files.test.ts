import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { errorOf } from "../support/call-http.ts";
import { readEvents, snapshot } from "../support/database.ts";
import { octets, pathOf, presign, put, storedFile } from "../support/files.ts";
import { stillEnv, type TestHub } from "../support/hub.ts";
import { freshName } from "../support/jobs.ts";
import { startMemoryHub } from "../support/memory-hub.ts";
import { issueToken } from "../support/tokens.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

const text = Buffer.from("forty-two");
const facts = { size: text.length, sha256: sha256Hex(text) };

function fresh() {
  return { folderId: "inputs", objectKey: `a/${freshName("file")}.txt` };
}

async function urlFor(method: string, key = fresh(), token = tokens.alice, more = {}) {
  const [url] = await presign(hub, token, { ...key, method, ...more });
  return url!;
}

function ask(token: string, request: object) {
  return hub.call("POST", "/files/presigned-urls", { token, body: [request] });
}

/** How many files the hub's storage has, complete or not. */
function storedCount(at: TestHub): number {
  const root = join(at.home, "objects");
  return readdirSync(root, { recursive: true, withFileTypes: true }).filter((one) => one.isFile()).length;
}

describe("M-02: a key is refused, and nothing is stored, when it", () => {
  test.each([
    ["climbs", "../globex/x"],
    ["begins at the root", "/x"],
    ["has a double slash", "a//b"],
    ["is escaped", "%2e%2e/x"],
    ["contains a NUL", "a\0b"],
    ["is too long", `${"a/".repeat(512)}b`],
    ["has control characters", "a\nb"],
    ["has a backslash", "a\\b"],
    ["is a folder", "a/"],
    ["is empty", ""],
  ])("%s", async (_, objectKey) => {
    const before = snapshot(hub.home);
    for (const method of ["PUT", "GET", "HEAD", "DELETE"]) {
      const answer = await ask(tokens.alice, { folderId: "inputs", objectKey, method });
      expect(answer).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
      expect(errorOf(answer.text).message).toContain("[0].objectKey");
    }
    expect(snapshot(hub.home)).toBe(before);
  });

  test("or its folder climbs", async () => {
    for (const folderId of ["..", ".hidden", "a/b", ""]) {
      expect(await ask(tokens.alice, { folderId, objectKey: "x", method: "GET" })).toMatchObject({
        status: 400,
      });
    }
  });
});

describe("M-04: a URL is refused", () => {
  test("with another method", async () => {
    const key = fresh();
    await storedFile(hub, tokens.alice, { ...key, bytes: text });
    const allowed: Record<string, string[]> = {
      PUT: ["PUT", "HEAD"],
      GET: ["GET"],
      HEAD: ["HEAD"],
      DELETE: ["DELETE"],
    };
    for (const [method, own] of Object.entries(allowed)) {
      const path = pathOf(await urlFor(method, key));
      for (const other of ["PUT", "GET", "HEAD", "DELETE", "POST"].filter((one) => !own.includes(one))) {
        const body = other === "PUT" ? { body: text, headers: octets } : {};
        const answer = await hub.call(other, path, body);
        expect(answer.status, `${other} with a URL for ${method}`).toBe(403);
      }
    }
    expect((await hub.call("GET", pathOf(await urlFor("GET", key)))).text).toBe("forty-two");
  });

  test("when it has expired", async () => {
    let passedMs = 0;
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + passedMs };
    const own = await startMemoryHub(stillEnv, { clock });
    onTestFinished(() => own.stop());
    await storedFile(own, own.admin, { folderId: "f", objectKey: "k", bytes: text });
    const [get, upload] = await presign(
      own,
      own.admin,
      { folderId: "f", objectKey: "k", method: "GET" },
      { folderId: "f", objectKey: "k2", method: "PUT" },
    );
    passedMs = 899_000;
    expect(await own.call("GET", pathOf(get!))).toMatchObject({ status: 200, text: "forty-two" });
    passedMs = 900_000;
    for (const [method, url] of [
      ["GET", get],
      ["PUT", upload],
      ["HEAD", upload],
    ] as const) {
      const body = method === "PUT" ? { body: text, headers: octets } : {};
      expect(await own.call(method, pathOf(url!), body)).toMatchObject({ status: 403 });
    }
    expect(storedCount(own)).toBe(1);
  });

  test("for a file of another size or with other bytes, and nothing of it stays", async () => {
    const key = fresh();
    const before = storedCount(hub);
    const url = await urlFor("PUT", key, tokens.alice, facts);
    expect(await put(hub, url, Buffer.from("forty-two!"))).toMatchObject({ status: 400 });
    expect(await put(hub, url, Buffer.from("forty-one"))).toMatchObject({
      status: 400,
      code: "CHECKSUM_MISMATCH",
    });
    expect(storedCount(hub)).toBe(before);
    expect(await ask(tokens.alice, { ...key, method: "GET" })).toMatchObject({ status: 404 });
    expect(await put(hub, url, text)).toMatchObject({ status: 201 });
  });

  test("for other bytes, when it has been used", async () => {
    const key = fresh();
    const url = await urlFor("PUT", key, tokens.alice, facts);
    expect(await put(hub, url, text)).toMatchObject({ status: 201 });
    const other = await put(hub, url, Buffer.from("forty-one"));
    expect(other).toMatchObject({ status: 409, code: "STATE_CONFLICT" });
    const head = await hub.call("HEAD", pathOf(url));
    expect(head.headers).toMatchObject({ "upload-offset": "9", "upload-complete": "?1" });
  });

  test("of a file that was deleted meanwhile", async () => {
    const key = fresh();
    await storedFile(hub, tokens.alice, { ...key, bytes: text });
    const get = await urlFor("GET", key);
    expect(await hub.call("DELETE", pathOf(await urlFor("DELETE", key)))).toMatchObject({ status: 204 });
    expect(await hub.call("GET", pathOf(get))).toMatchObject({ status: 410, code: "FILE_REMOVED" });
    expect(await hub.call("DELETE", pathOf(await urlFor("DELETE", key)))).toMatchObject({ status: 404 });
  });
});

describe("a file can be read", () => {
  const key = fresh();

  test("only by the user who has uploaded it and by administrators of the tenant", async () => {
    await storedFile(hub, tokens.alice, { ...key, bytes: text });
    for (const token of [tokens.alice, tokens.acmeAdmin]) {
      expect((await hub.call("GET", pathOf(await urlFor("GET", key, token)))).text).toBe("forty-two");
    }
    const colleague = await ask(tokens.bob, { ...key, method: "GET" });
    expect(colleague).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
    expect(readEvents(hub.home).at(-1)).toMatchObject({ event: "PERMISSION_DENIED" });
    for (const stranger of [tokens.eve, tokens.globexAdmin]) {
      expect(await ask(stranger, { ...key, method: "GET" })).toMatchObject({
        status: 404,
        code: "NOT_FOUND",
      });
    }
  });

  test("and a colleague, or another tenant, that uses the same key has a file of its own", async () => {
    for (const [token, words] of [
      [tokens.bob, "bob"],
      [tokens.eve, "eve"],
    ] as const) {
      await storedFile(hub, token, { ...key, bytes: Buffer.from(words) });
      expect((await hub.call("GET", pathOf(await urlFor("GET", key, token)))).text).toBe(words);
    }
    expect((await hub.call("GET", pathOf(await urlFor("GET", key)))).text).toBe("forty-two");
    expect(await hub.call("DELETE", pathOf(await urlFor("DELETE", key, tokens.bob)))).toMatchObject({
      status: 204,
    });
    expect((await hub.call("GET", pathOf(await urlFor("GET", key)))).text).toBe("forty-two");
  });

  test("in ranges, and HEAD answers without the bytes", async () => {
    const get = pathOf(await urlFor("GET", key));
    const cases: [string, number, string, string | undefined][] = [
      ["bytes=0-4", 206, "forty", "bytes 0-4/9"],
      ["bytes=6-", 206, "two", "bytes 6-8/9"],
      ["bytes=-3", 206, "two", "bytes 6-8/9"],
      ["lines=1-2", 200, "forty-two", undefined],
    ];
    for (const [range, status, body, contentRange] of cases) {
      const answer = await hub.call("GET", get, { headers: { Range: range } });
      expect(answer, range).toMatchObject({ status, text: body });
      expect(answer.headers["content-range"]).toBe(contentRange);
    }
    expect(await hub.call("GET", get, { headers: { Range: "bytes=9-" } })).toMatchObject({ status: 416 });
    const head = await hub.call("HEAD", pathOf(await urlFor("HEAD", key)));
    expect(head).toMatchObject({ status: 200, text: "" });
    expect(head.headers).toMatchObject({ "content-length": "9", etag: `"${facts.sha256}"` });
  });

  test("a page among them is never shown as a page of the hub", async () => {
    const page = fresh();
    await storedFile(hub, tokens.alice, { ...page, bytes: Buffer.from("<script>alert(1)</script>") });
    const { headers } = await hub.call("GET", pathOf(await urlFor("GET", page)));
    expect(headers).toMatchObject({
      "content-type": "application/octet-stream",
      "x-content-type-options": "nosniff",
      "content-disposition": expect.stringMatching(/^attachment/),
    });
  });
});

describe("an upload", () => {
  const range = (start: number, end: number, total = 9) => ({
    "Content-Range": `bytes ${start}-${end - 1}/${total}`,
  });

  test("continues where it stopped, also with another URL for the same file", async () => {
    const key = fresh();
    const first = await urlFor("PUT", key, tokens.alice, facts);
    const part = await put(hub, first, text.subarray(0, 4), range(0, 4));
    expect(part).toMatchObject({ status: 202 });
    expect(part.json()).toEqual({ size: 4, sha256: null });
    const second = await urlFor("PUT", key, tokens.alice, facts);
    const head = await hub.call("HEAD", pathOf(second));
    expect(head.headers).toMatchObject({ "upload-offset": "4", "upload-complete": "?0" });
    const wrong = await put(hub, second, text.subarray(5), range(5, 9));
    expect(wrong).toMatchObject({ status: 409, code: "UPLOAD_OFFSET" });
    expect(errorOf(wrong.text).details).toMatchObject({ size: 4 });
    const rest = await put(hub, second, text.subarray(4), range(4, 9));
    expect(rest).toMatchObject({ status: 201 });
    expect(rest.json()).toEqual(facts);
    expect((await hub.call("GET", pathOf(await urlFor("GET", key)))).text).toBe("forty-two");
  });

  test("begins again when it is of other bytes", async () => {
    const key = fresh();
    await put(hub, await urlFor("PUT", key, tokens.alice, facts), text.subarray(0, 4), range(0, 4));
    const other = { size: 9, sha256: sha256Hex("forty-one") };
    const head = await hub.call("HEAD", pathOf(await urlFor("PUT", key, tokens.alice, other)));
    expect(head.headers["upload-offset"]).toBe("0");
  });

  test("may leave out its hash, and its size if the request has one", async () => {
    const key = fresh();
    expect((await put(hub, await urlFor("PUT", key), text)).json()).toEqual(facts);
    const chunked = { body: text, headers: octets, chunked: true };
    expect(await hub.call("PUT", pathOf(await urlFor("PUT")), chunked)).toMatchObject({ status: 400 });
    const sized = await urlFor("PUT", fresh(), tokens.alice, { size: 9 });
    expect(await hub.call("PUT", pathOf(sized), chunked)).toMatchObject({ status: 201 });
    const larger = await urlFor("PUT", fresh(), tokens.alice, { size: 20 });
    expect(await hub.call("PUT", pathOf(larger), chunked)).toMatchObject({ status: 400 });
  });

  test.each(["bytes 0-3", "bytes 4-0/9", "bytes 0-9/9", "bytes 0-8/5", "lines 0-3/9", "bytes */9"])(
    "is refused with Content-Range: %s",
    async (value) => {
      const url = await urlFor("PUT", fresh(), tokens.alice, facts);
      const answer = await put(hub, url, text, { "Content-Range": value });
      expect(answer).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    },
  );

  test("replaces the file that the user had there, and readers of the old one are not disturbed", async () => {
    const key = fresh();
    await storedFile(hub, tokens.alice, { ...key, bytes: text });
    await storedFile(hub, tokens.alice, { ...key, bytes: Buffer.from("new") });
    expect((await hub.call("GET", pathOf(await urlFor("GET", key)))).text).toBe("new");
  });

  test("may be empty", async () => {
    const key = fresh();
    expect(await storedFile(hub, tokens.alice, { ...key, bytes: Buffer.alloc(0) })).toMatchObject({
      size: 0,
    });
    expect(await hub.call("GET", pathOf(await urlFor("GET", key)))).toMatchObject({ status: 200, text: "" });
  });
});

describe("max_artifact_bytes", () => {
  const tenant_id = "limited";
  async function limited(maxBytes: number) {
    const body = { max_artifact_bytes: maxBytes };
    await hub.must("PUT", `/tenants/${tenant_id}/quota`, { token: hub.admin, body });
    return (await issueToken(hub, { role: "user", tenant_id, user_id: "lea" })).token;
  }

  test("counts what is announced, however much is announced at the same time", async () => {
    const token = await limited(100);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        ask(token, { folderId: "f", objectKey: `k${index}`, method: "PUT", size: 9, sha256: facts.sha256 }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(11);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(9);
    expect(refused[0]).toMatchObject({ code: "QUOTA_EXCEEDED" });
    expect(errorOf(refused[0]!.text).details).toMatchObject({ used_bytes: 99, max_artifact_bytes: 100 });
    expect(readEvents(hub.home).filter(({ event }) => event === "QUOTA_EXCEEDED")).not.toEqual([]);
  });

  test("holds for a file whose size only the request says", async () => {
    const token = await limited(103);
    const [url] = await presign(hub, token, { folderId: "f", objectKey: "late", method: "PUT" });
    expect(await put(hub, url!, text)).toMatchObject({ status: 429, code: "QUOTA_EXCEEDED" });
    expect(await put(hub, url!, Buffer.from("four"))).toMatchObject({ status: 201 });
  });
});

test("files are private to the hub's user", async () => {
  await storedFile(hub, tokens.alice, { ...fresh(), bytes: text });
  const root = join(hub.home, "objects", "acme", "inputs");
  expect(existsSync(root)).toBe(true);
  const { statSync } = await import("node:fs");
  for (const one of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const mode = statSync(join(one.parentPath, one.name)).mode & 0o077;
    expect(mode, one.name).toBe(0);
  }
});
