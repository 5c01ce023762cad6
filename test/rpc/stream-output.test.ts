import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:http2";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { streamOutputRequest } from "../../src/contract/gen/writ/v1/job_service.ts";
import { revokeCerts } from "../../src/hub/admin.ts";
import { encodeMessage } from "../../src/runtime/grpc/encode-message.ts";
import { eventually } from "../support/eventually.ts";
import { claimJob, type HeldJob, registerWorker } from "../support/jobs.ts";
import { framed } from "./raw-call.ts";
import {
  issueTo,
  type OutputMessage,
  type RpcHub,
  readAll,
  refusalIn,
  type Stub,
  startRpcHub,
  stubFor,
} from "./rpc-hub.ts";

let hub: RpcHub;
let stub: Stub;
let workerId: string;

beforeAll(async () => {
  hub = await startRpcHub();
  stub = stubFor(hub, hub.root);
  workerId = await registerWorker(hub);
});
afterAll(async () => {
  stub.close();
  await hub.stop();
});

async function running(wish: Record<string, unknown> = {}): Promise<HeldJob> {
  const { job_id } = await stub.call<{ job_id: string }>("StartJob", { command: ["true"], ...wish });
  return claim(job_id);
}

async function claim(jobId: string): Promise<HeldJob> {
  const held = await claimJob(hub, { workerId, type: "exec" });
  expect(held.id).toBe(jobId);
  await hub.must("POST", `/jobs/${held.id}/start`, { token: hub.admin, body: held.fence });
  return held;
}

/** In pieces, because one call takes no more than 8 MiB. */
async function append(job: HeldJob, bytes: Uint8Array | string, { from = 0, stream = "stdout" } = {}) {
  const all = Buffer.from(bytes as string);
  for (let start = 0; start < all.length; start += 4 * 1024 ** 2) {
    await hub.must("POST", `/jobs/${job.id}/output/${stream}?offset=${from + start}`, {
      token: hub.admin,
      body: all.subarray(start, start + 4 * 1024 ** 2),
      headers: {
        "Content-Type": "application/octet-stream",
        "X-Worker-Id": job.fence.worker_id,
        "X-Job-Attempt": String(job.fence.attempt),
        "X-Lease-Token": job.fence.token,
      },
    });
  }
}

function finish(job: HeldJob, body: Record<string, unknown> = { result: null }) {
  const how = "result" in body ? "result" : "fail";
  return hub.must("POST", `/jobs/${job.id}/${how}`, { token: hub.admin, body: { ...job.fence, ...body } });
}

const failureOf = (messages: AsyncIterable<OutputMessage>) =>
  readAll(messages).then(
    () => ({ code: 0, details: "it ended well", writCode: undefined }),
    (error) => refusalIn(error),
  );

describe("refusals", () => {
  const cases: [string, Record<string, unknown>, number, RegExp][] = [
    ["no id", { job_id: "" }, status.INVALID_ARGUMENT, /^job_id/],
    ["an id that is none", { job_id: "nope" }, status.NOT_FOUND, /no job nope/],
    [
      "a chunk that is too large",
      { max_chunk_bytes: 1024 ** 2 + 1 },
      status.INVALID_ARGUMENT,
      /^max_chunk_bytes/,
    ],
    ["an offset beyond all numbers", { offset: "9007199254740993" }, status.INVALID_ARGUMENT, /^offset/],
    ["a stream that there is not", { stream: 5 }, status.INVALID_ARGUMENT, /^stream/],
  ];

  test.each(cases)("%s", async (_name, request, code, message) => {
    const job = await running();
    const refusal = await failureOf(stub.stream({ job_id: job.id, ...request }));
    expect(refusal).toMatchObject({ code, details: expect.stringMatching(message) });
    await finish(job);
  });

  test("an offset behind the end of what has ended", async () => {
    const job = await running();
    await append(job, "hello");
    await finish(job);
    expect(await readAll(stub.stream({ job_id: job.id, offset: 5 }), 5)).toHaveLength(0);
    expect(await failureOf(stub.stream({ job_id: job.id, offset: 6 }))).toMatchObject({
      code: status.OUT_OF_RANGE,
      details: expect.stringContaining("5 bytes"),
    });
  });
});

describe("a stream", () => {
  test("follows what comes and ends with the job, whose status already shows the end", async () => {
    const job = await running();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { data } of stub.stream({ job_id: job.id })) seen.push(data.toString());
      return stub.call("GetStatus", { job_id: job.id });
    })();
    let size = 0;
    for (const line of ["one\n", "two\n", "three\n"]) {
      await append(job, line, { from: size });
      size += line.length;
      await eventually(`the line ${line}`, () => seen.join("").length === size);
    }
    await finish(job);
    expect(await reading).toMatchObject({ state: "EXITED", stdout_bytes: size });
    expect(seen.join("")).toBe("one\ntwo\nthree\n");
  });

  test("of stderr is its own", async () => {
    const job = await running();
    await append(job, "out");
    await append(job, "err", { stream: "stderr" });
    await finish(job);
    expect((await readAll(stub.stream({ job_id: job.id, stream: "STDERR" }))).toString()).toBe("err");
    expect((await readAll(stub.stream({ job_id: job.id }))).toString()).toBe("out");
  });

  test("comes in chunks of at most 32 KiB, or what the client takes, from any offset, byte for byte", async () => {
    const job = await running();
    const bytes = randomBytes(3 * 1024 ** 2 + 17);
    await append(job, bytes);
    await finish(job);
    for (const [max_chunk_bytes, limit] of [
      [0, 32_768],
      [1, 1],
      [1000, 1000],
      [1024 ** 2, 1024 ** 2],
    ] as const) {
      const offset = max_chunk_bytes === 1 ? bytes.length - 300 : 12_345;
      const messages = await Array.fromAsync(stub.stream({ job_id: job.id, offset, max_chunk_bytes }));
      expect(Math.max(...messages.map(({ data }) => data.length))).toBeLessThanOrEqual(limit);
      const got = await readAll(iterate(messages), offset);
      expect(got.equals(bytes.subarray(offset)), String(max_chunk_bytes)).toBe(true);
    }
  });

  test("B9: of an attempt that never was is NOT_FOUND", async () => {
    const { id } = await running();
    const refused = await readAll(stub.stream({ job_id: id, attempt: 2 })).catch(refusalIn);
    expect(refused).toMatchObject({
      code: status.NOT_FOUND,
      details: expect.stringContaining("attempt 2 of job"),
    });
  });

  test("of an attempt ends with that attempt, and the next one has its own", async () => {
    const first = await running({ max_attempts: 2 });
    await append(first, "first");
    const reading = readAll(stub.stream({ job_id: first.id }));
    await finish(first, { code: "EXECUTION_ERROR", reason: "once more" });
    expect((await reading).toString()).toBe("first");
    const second = await claim(first.id);
    await append(second, "second");
    await finish(second);
    const [message] = await Array.fromAsync(stub.stream({ job_id: first.id }));
    expect(message).toMatchObject({ attempt: 2, data: Buffer.from("second") });
    expect((await readAll(stub.stream({ job_id: first.id, attempt: 1 }))).toString()).toBe("first");
  });

  test("of a job that never ran is empty", async () => {
    const { job_id } = await stub.call<{ job_id: string }>("StartJob", { command: ["true"] });
    const reading = readAll(stub.stream({ job_id }));
    await stub.call("StopJob", { job_id });
    expect(await reading).toHaveLength(0);
  });

  test("reaches many clients at once, byte for byte, while it grows", async () => {
    const job = await running();
    const bytes = randomBytes(8 * 1024 ** 2);
    const stubs = Array.from({ length: 16 }, () => stubFor(hub, hub.root));
    const readings = stubs.map((each) => readAll(each.stream({ job_id: job.id })));
    for (let at = 0; at < bytes.length; at += 1024 ** 2) {
      await append(job, bytes.subarray(at, at + 1024 ** 2), { from: at });
    }
    await finish(job);
    const hash = sha256(bytes);
    for (const got of await Promise.all(readings)) expect(sha256(got)).toBe(hash);
    for (const each of stubs) each.close();
  });

  test("that is not read holds back only itself, and fills no memory of the hub", async () => {
    const job = await running();
    const bytes = randomBytes(32 * 1024 ** 2);
    await append(job, bytes);
    await finish(job);
    const idle = Array.from({ length: 20 }, () => openIdle(job.id));
    await Promise.all(idle.map(({ answered }) => answered));
    const before = memoryHeld();
    const got = await readAll(stub.stream({ job_id: job.id }));
    expect(got.equals(bytes)).toBe(true);
    // A window, a piece that is framed and one that is read, for each of them; and what we have just received.
    const heldBytes = memoryHeld() - before - got.length;
    expect(heldBytes).toBeLessThan(idle.length * 3 * 1024 ** 2);
    for (const { session } of idle) session.destroy();
  });
});

/** What is in use, without what only waits to be collected: how much that is depends on when one looks. */
function memoryHeld(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().arrayBuffers;
}

/** A client that asks and then reads nothing. */
function openIdle(jobId: string) {
  const session = connect(`https://localhost:${hub.grpcPort}`, {
    ...hub.root,
    ca: hub.ca,
    settings: { initialWindowSize: 1024 ** 2 },
  });
  const request = encodeMessage(streamOutputRequest, { job_id: jobId, max_chunk_bytes: 1024 ** 2 });
  const stream = session.request({
    ":method": "POST",
    ":path": "/writ.v1.JobService/StreamOutput",
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => {});
  stream.end(framed(request));
  return { session, answered: once(stream, "response") };
}

describe("the end of a right", () => {
  test("a revoked certificate is refused at the next call on the same connection", async () => {
    const pair = await issueTo(hub, "rita", "default");
    const rita = stubFor(hub, pair);
    await rita.call("ListJobs", {});
    await revokeCerts(hub.home, { serial: pair.serial, nowMs: Date.now() });
    expect(await rita.refused("ListJobs", {})).toMatchObject({
      code: status.UNAUTHENTICATED,
      details: "the certificate is revoked",
    });
    rita.close();
  });

  test("a stream ends when its certificate is revoked", async () => {
    const pair = await issueTo(hub, "rudi", "default", true);
    const rudi = stubFor(hub, pair);
    const job = await running();
    const failing = failureOf(rudi.stream({ job_id: job.id }));
    await revokeCerts(hub.home, { user: "rudi", nowMs: Date.now() });
    expect(await failing).toMatchObject({ code: status.UNAUTHENTICATED });
    await finish(job);
    rudi.close();
  });
});

test("a stream that a stopping hub breaks off goes on by its offset after the restart", async () => {
  const job = await running();
  await append(job, "before ");
  let got = "";
  const broken = (async () => {
    for await (const { data } of stub.stream({ job_id: job.id })) got += data;
  })().then(
    () => null,
    (error) => refusalIn(error),
  );
  await eventually("the first bytes", () => got === "before ");
  const { home } = hub;
  await hub.stop({ keepHome: true });
  expect(await broken).toMatchObject({ code: status.UNAVAILABLE, writCode: "SHUTTING_DOWN" });
  stub.close();

  hub = await startRpcHub({}, { home });
  stub = stubFor(hub, hub.root);
  const rest = readAll(stub.stream({ job_id: job.id, offset: got.length }), got.length);
  await append(job, "after", { from: got.length });
  await finish(job);
  expect(got + (await rest).toString()).toBe("before after");
});

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function* iterate(messages: OutputMessage[]): AsyncGenerator<OutputMessage> {
  yield* messages;
}
