import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { errorOf } from "../support/call-http.ts";
import { open } from "../support/event-stream.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { claimJob, type HeldJob, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll({ ...stillEnv, WRIT_MAX_OUTPUT_BYTES: String(16 * 1024 ** 2) });
const tokens = tokensOf(hub);

function append(job: HeldJob, offset: number, bytes: string | Uint8Array, stream = "stdout") {
  return hub.call("POST", `/jobs/${job.id}/output/${stream}?offset=${offset}`, {
    token: tokens.worker,
    body: Buffer.from(bytes as string),
    headers: {
      "Content-Type": "application/octet-stream",
      "X-Worker-Id": job.fence.worker_id,
      "X-Job-Attempt": String(job.fence.attempt),
      "X-Lease-Token": job.fence.token,
    },
  });
}

function read(id: string, query = "", headers: Record<string, string> = {}, stream = "stdout") {
  return hub.call("GET", `/jobs/${id}/output/${stream}${query}`, { token: tokens.alice, headers });
}

async function finish(job: HeldJob): Promise<void> {
  await hub.must("POST", `/jobs/${job.id}/result`, { token: hub.admin, body: { ...job.fence, result: 1 } });
}

const aliceJob = () => runningJob(hub, { token: tokens.alice });

test("searching tells where a text begins, to readers of the job alone", async () => {
  const job = await aliceJob();
  await append(job, 0, "one error\ntwo\nthree error\n");
  const search = (token: string, query: string) =>
    hub.call("GET", `/jobs/${job.id}/output/stdout/search?${query}`, { token });
  const found = { attempt: 1, size: 26, offsets: [4, 20], next: null };
  expect((await search(tokens.alice, "q=error")).json()).toEqual(found);
  expect((await search(tokens.alice, "q=error&from=5")).json()).toEqual({ ...found, offsets: [20] });
  expect(await search(tokens.alice, "q=")).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
  expect(await search(tokens.bob, "q=error")).toMatchObject({ status: 403 });
  expect(await search(tokens.alice, "q=error&attempt=7")).toMatchObject({ status: 404 });
});

describe("appending", () => {
  test("continues exactly at the end of the stream, and the answer has the new size", async () => {
    const job = await aliceJob();
    expect((await append(job, 0, "hello ")).json()).toEqual({ size: 6 });
    expect((await append(job, 6, "world")).json()).toEqual({ size: 11 });
    for (const offset of [0, 5, 12, 1_000_000]) {
      const answer = await append(job, offset, "again");
      expect(answer, String(offset)).toMatchObject({ status: 409, code: "OUTPUT_OFFSET" });
      expect(errorOf(answer.text).details).toEqual({ size: 11 });
    }
    expect((await append(job, 0, "apart", "stderr")).json()).toEqual({ size: 5 });
    expect((await read(job.id)).text).toBe("hello world");
    const view = (await hub.must("GET", `/jobs/${job.id}`, { token: tokens.alice })).json<JobView>();
    expect(view.output).toEqual({ stdout: 11, stderr: 5 });
  });

  test("of the same chunk by many at once writes it once", async () => {
    const job = await aliceJob();
    const answers = await Promise.all(Array.from({ length: 20 }, () => append(job, 0, "once")));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
    expect((await read(job.id)).text).toBe("once");
  });

  test("keeps bytes as they are, up to the size of a chunk", async () => {
    const job = await aliceJob();
    const bytes = randomBytes(8 * 1024 ** 2);
    expect((await append(job, 0, bytes)).json()).toEqual({ size: bytes.length });
    expect((await read(job.id)).bytes.equals(bytes)).toBe(true);
  });

  test("stops at the limit of a stream, and at the tenant's own", async () => {
    const job = await aliceJob();
    const chunk = Buffer.alloc(8 * 1024 ** 2);
    await append(job, 0, chunk);
    await append(job, chunk.length, chunk);
    expect(await append(job, 2 * chunk.length, "x")).toMatchObject({ status: 413, code: "TOO_LARGE" });
    await hub.must("PUT", "/tenants/globex/quota", { token: hub.admin, body: { max_output_bytes: 4 } });
    const small = await runningJob(hub, { token: tokens.eve });
    expect((await append(small, 0, "1234")).status).toBe(200);
    expect((await append(small, 4, "5")).status).toBe(413);
  });

  test("needs to know where", async () => {
    const job = await aliceJob();
    const answer = await hub.call("POST", `/jobs/${job.id}/output/stdout`, {
      token: tokens.worker,
      body: "x",
    });
    expect(errorOf(answer.text).details?.issues?.[0]?.path).toBe("offset");
  });
});

describe("reading", () => {
  test("gives all, the rest from an offset, or a range", async () => {
    const job = await aliceJob();
    await append(job, 0, "0123456789");
    const whole = await read(job.id);
    expect(whole).toMatchObject({ status: 200, text: "0123456789" });
    expect(whole.headers).toMatchObject({
      "content-type": "application/octet-stream",
      "content-length": "10",
      "accept-ranges": "bytes",
      "x-job-attempt": "1",
      "x-content-type-options": "nosniff",
      "content-disposition": "attachment",
    });
    expect((await read(job.id, "?offset=4")).text).toBe("456789");
    expect((await read(job.id, "?offset=10")).text).toBe("");
    expect(await read(job.id, "?offset=11")).toMatchObject({ status: 416, code: "RANGE_NOT_SATISFIABLE" });
    for (const [range, text, contentRange] of [
      ["bytes=2-4", "234", "bytes 2-4/10"],
      ["bytes=7-", "789", "bytes 7-9/10"],
      ["bytes=7-99", "789", "bytes 7-9/10"],
      ["bytes=-3", "789", "bytes 7-9/10"],
      ["bytes=-99", "0123456789", "bytes 0-9/10"],
    ] as const) {
      const part = await read(job.id, "", { Range: range });
      expect(part, range).toMatchObject({ status: 206, text });
      expect(part.headers["content-range"]).toBe(contentRange);
    }
    for (const range of ["bytes=10-", "bytes=99-100", "bytes=-0"]) {
      const refused = await read(job.id, "", { Range: range });
      expect(refused, range).toMatchObject({ status: 416 });
      expect(refused.headers["content-range"], range).toBe("bytes */10");
    }
    for (const range of ["bytes=0-1,3-4", "lines=1-2", "bytes=x"]) {
      expect(await read(job.id, "", { Range: range }), range).toMatchObject({
        status: 200,
        text: "0123456789",
      });
    }
  });

  test("is of the latest attempt, or of the one that is named", async () => {
    const first = await aliceJob();
    await append(first, 0, "first");
    await hub.must("POST", `/jobs/${first.id}/fail`, {
      token: hub.admin,
      body: { ...first.fence, reason: "r" },
    });
    const second = await claimJob(hub, { workerId: first.fence.worker_id, type: first.type });
    await append(second, 0, "second");
    expect(await read(first.id)).toMatchObject({ text: "second", headers: { "x-job-attempt": "2" } });
    expect((await read(first.id, "?attempt=1")).text).toBe("first");
  });

  test("of a job that has written nothing is empty", async () => {
    const { id } = await submitJob(hub, { token: tokens.alice });
    expect(await read(id)).toMatchObject({ status: 200, text: "" });
  });
});

describe("following", () => {
  test("B9: of an attempt that never existed is 404 without a wait", async () => {
    const { id } = await runningJob(hub, { token: tokens.alice });
    for (const query of ["?attempt=2", "?attempt=2&follow=true", "?attempt=7"]) {
      const answer = await read(id, query);
      expect(answer, query).toMatchObject({ status: 404, code: "NOT_FOUND" });
      expect(errorOf(answer.text).message).toContain("has never started; its latest is 1");
    }
    const waiting = await submitJob(hub, { token: tokens.alice });
    expect((await read(waiting.id, "?attempt=1")).status).toBe(200);
    expect((await read(waiting.id, "?attempt=2&follow=true")).status).toBe(404);
  });

  test("begins before the job does and ends when the attempt has ended and all is sent", async () => {
    const { id, type } = await submitJob(hub, { token: tokens.alice });
    const early = await follow(id);
    const job = await claimJob(hub, { workerId: await registerWorker(hub), type });
    await append(job, 0, "one ");
    await eventually("the first words are there", () => early.text() === "one ");
    const late = await follow(id, "?follow=true&offset=2");
    await append(job, 4, "two");
    await finish(job);
    await Promise.all([early.ended, late.ended]);
    expect(early.text()).toBe("one two");
    expect(late.text()).toBe("e two");
    expect(early.headers["x-job-attempt"]).toBe("1");
  });

  test("stays with its attempt when the job is tried again, and ends with it", async () => {
    const first = await aliceJob();
    const following = await follow(first.id);
    await append(first, 0, "first");
    await hub.must("POST", `/jobs/${first.id}/fail`, {
      token: hub.admin,
      body: { ...first.fence, reason: "r" },
    });
    await following.ended;
    expect(following.text()).toBe("first");
  });

  test("gives many readers the same bytes, and a reader that hangs up does not disturb the others", async () => {
    const job = await aliceJob();
    const readers = await Promise.all(Array.from({ length: 10 }, () => follow(job.id)));
    readers[0]!.cut();
    const bytes = randomBytes(300_000);
    for (let offset = 0; offset < bytes.length; offset += 50_000) {
      await append(job, offset, bytes.subarray(offset, offset + 50_000));
    }
    await finish(job);
    for (const reader of readers.slice(1)) {
      await reader.ended;
      expect(reader.bytes().equals(bytes)).toBe(true);
    }
  });

  test("is broken off when its token is revoked, because an end would look complete", async () => {
    const job = await aliceJob();
    const { id, token } = await issueToken(hub, { role: "user", tenant_id: "acme", user_id: "alice" });
    const following = await follow(job.id, "?follow=true", token);
    await append(job, 0, "one ");
    await eventually("the first words are there", () => following.text() === "one ");
    await hub.must("DELETE", `/tokens/${id}`, { token: hub.admin });
    await expect(following.ended).rejects.toThrow("aborted");
  });

  test("ends at once for a job that was cancelled before a worker claimed it", async () => {
    const { id } = await submitJob(hub, { token: tokens.alice });
    const following = await follow(id);
    await hub.must("DELETE", `/jobs/${id}`, { token: tokens.alice });
    await following.ended;
    expect(following.bytes()).toHaveLength(0);
  });
});

async function follow(id: string, query = "?follow=true", token = tokens.alice) {
  const path = `/api/v1/jobs/${id}/output/stdout${query}`;
  const incoming: IncomingMessage = await open(hub, path, { Authorization: `Bearer ${token}` });
  const chunks: Buffer[] = [];
  const ended = Promise.withResolvers<void>();
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => ended.resolve());
  incoming.on("error", (error) => ended.reject(error));
  ended.promise.catch(() => {});
  const bytes = () => Buffer.concat(chunks);
  return {
    headers: incoming.headers,
    bytes,
    text: () => bytes().toString(),
    ended: ended.promise,
    cut: () => incoming.destroy(),
  };
}
