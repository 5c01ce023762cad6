import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client, credentials, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { jobReader, runningJob } from "../support/jobs.ts";
import { framed, rawCall } from "./raw-call.ts";
import { type RpcHub, start, startRpcHub, stubFor } from "./rpc-hub.ts";

let hub: RpcHub;

beforeAll(async () => {
  hub = await startRpcHub();
});
afterAll(() => hub.stop());

const raw = (changes: object) =>
  rawCall({ port: hub.grpcPort, tls: { ca: hub.ca, ...hub.root }, ...changes });
const paths = ["/writ.v1.JobService/StartJob", "/writ.v1.JobService/StreamOutput"];

test.each(paths)("%s does not unpack compressed messages", async (path) => {
  const answer = await raw({
    path,
    body: framed(Buffer.alloc(10), 1),
    headers: { "grpc-encoding": "gzip" },
  });
  expect(answer).toMatchObject({ kind: "status", status: status.UNIMPLEMENTED });
});

test.each(paths)("%s refuses a message over its limit", async (path) => {
  const answer = await raw({ path, body: framed(Buffer.alloc(4 * 1024 * 1024 + 1)) });
  expect(answer).toMatchObject({ kind: "status", status: status.RESOURCE_EXHAUSTED });
});

const reflectionPath = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const notOneMessage: [string, Buffer][] = [
  ["what is not a message", framed(Buffer.from([0xff, 0xff, 0xff]))],
  ["half a message", framed(Buffer.alloc(100)).subarray(0, 50)],
];

describe.each([...paths, reflectionPath])("%s", (path) => {
  test.each(notOneMessage)("B9: refuses %s as INVALID_ARGUMENT", async (_, body) => {
    const answer = await raw({ path, body });
    expect(answer).toMatchObject({ kind: "status", status: status.INVALID_ARGUMENT });
  });
});

test.each(paths)("%s refuses no message and two", async (path) => {
  for (const body of [Buffer.alloc(0), Buffer.concat([framed(Buffer.alloc(0)), framed(Buffer.alloc(0))])]) {
    expect(await raw({ path, body })).toMatchObject({ kind: "status", status: status.INVALID_ARGUMENT });
  }
});

test.each(["/writ.v1.JobService/Nope", "/nope", "/writ.v1.JobService/GetStatus/x"])(
  "B9: %s, a method that there is not, is UNIMPLEMENTED for a client that waits for trailers",
  async (path) => {
    const answer = await raw({ path, body: framed(Buffer.alloc(100_000)) });
    expect(answer).toMatchObject({ kind: "status", status: status.UNIMPLEMENTED });
    const creds = credentials.createSsl(
      Buffer.from(hub.ca),
      Buffer.from(hub.root.key),
      Buffer.from(hub.root.cert),
    );
    const client = new Client(`localhost:${hub.grpcPort}`, creds);
    const empty = () => Buffer.alloc(0);
    const error = await new Promise((resolve) => {
      client.makeUnaryRequest(path, empty, empty, null, (refusal) => resolve(refusal));
    });
    client.close();
    expect(error).toMatchObject({ code: status.UNIMPLEMENTED });
  },
);

test.each(["600H", "99999999S", "99999999H"])(
  "A18: a call with a deadline of %s is not late at once",
  async (timeout) => {
    const job = await runningJob(hub);
    const view = jobReader(hub);
    const body = framed(Buffer.concat([Buffer.from([0x0a, job.id.length]), Buffer.from(job.id)]));
    const path = "/writ.v1.JobService/StopJob";
    const stopping = raw({ path, body, headers: { "grpc-timeout": timeout } });
    await eventually("it is to stop", async () => (await view(job.id)).cancel_requested_at !== null);
    const report = { ...job.fence, reason: "stopped", code: "CANCELLED" };
    await hub.must("POST", `/jobs/${job.id}/fail`, { token: hub.admin, body: report });
    expect(await stopping).toMatchObject({ kind: "status", status: status.OK });
  },
);

test("what is not gRPC gets a status of HTTP", async () => {
  expect(await raw({ headers: { "content-type": "application/json" } })).toMatchObject({ error: "HTTP 415" });
  expect(await raw({ headers: { ":method": "PUT" } })).toMatchObject({ error: "HTTP 405" });
});

test("O-18 every call leaves one line in the log, with the job that it is about or has made, without what was sent", async () => {
  const home = hub.home;
  await hub.stop({ keepHome: true });
  hub = await startRpcHub({ WRIT_LOG_LEVEL: "info" }, { home });
  const stub = stubFor(hub, hub.root);
  const job_id = await start(stub, { env: { PASSWORD: "hunter2" } });
  await stub.refused("GetStatus", { job_id: "01900000-0000-7000-8000-000000000000" });
  stub.close();
  const log = await eventually("the log", () => {
    const text = readFileSync(join(home, "logs/hub.log"), "utf8");
    return text.includes("NOT_FOUND") ? text : null;
  });
  const calls = log
    .split("\n")
    .filter((line) => line.includes("gRPC"))
    .map((line) => JSON.parse(line));
  expect(calls).toMatchObject([
    { route: "writ.v1.JobService/StartJob", status: "OK", user: "root", tenant: null, job: job_id },
    { route: "writ.v1.JobService/GetStatus", status: "NOT_FOUND", request_id: expect.any(String) },
  ]);
  expect(log).not.toContain("hunter2");
  expect(job_id).toBeTruthy();
});
