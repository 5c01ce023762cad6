import { readFileSync } from "node:fs";
import { join } from "node:path";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
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

test.each(paths)("%s refuses what is not a message", async (path) => {
  const answer = await raw({ path, body: framed(Buffer.from([0xff, 0xff, 0xff])) });
  expect(answer.kind === "status" && answer.status).toBeTruthy();
  expect(answer).not.toMatchObject({ status: 0 });
});

test("a method that there is not", async () => {
  const answer = await raw({ path: "/writ.v1.JobService/Nope" });
  expect(answer).toMatchObject({ kind: "status", status: status.UNIMPLEMENTED });
});

test("every call leaves one line in the log, without what was sent", async () => {
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
    { route: "writ.v1.JobService/StartJob", status: "OK", user: "root", tenant: "default" },
    { route: "writ.v1.JobService/GetStatus", status: "NOT_FOUND", request_id: expect.any(String) },
  ]);
  expect(log).not.toContain("hunter2");
  expect(job_id).toBeTruthy();
});
