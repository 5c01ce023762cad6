import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../runtime/log/logger.ts";
import { Worker } from "../worker/index.ts";
import { defineJob, WritError } from "./index.ts";
import { jobIdNumber, jobView, sendError, sendJson, startTinyHub } from "./testing/tiny-hub.ts";
import { Writ } from "./writ.ts";

async function open(status: number, code: string) {
  const hub = await startTinyHub((_, response) => sendError(response, status, code));
  const writ = new Writ({ url: hub.url });
  onTestFinished(async () => {
    writ.close();
    await hub[Symbol.asyncDispose]();
  });
  return writ;
}

type GrpcCall = (writ: Writ) => Promise<unknown>;

const calls: [string, GrpcCall][] = [
  [
    "get",
    async function fromMyProgram(writ) {
      return await writ.get(jobIdNumber(1));
    },
  ],
  [
    "submit",
    async function fromMyProgram(writ) {
      return await writ.submit({ type: "a" });
    },
  ],
  [
    "submitBatch",
    async function fromMyProgram(writ) {
      return await writ.submitBatch([{ type: "a" }]);
    },
  ],
  [
    "submits together",
    async function fromMyProgram(writ) {
      return await Promise.all([writ.submit({ type: "a" }), writ.submit({ type: "b" })]);
    },
  ],
  [
    "wait",
    async function fromMyProgram(writ) {
      return await writ.wait(jobIdNumber(1));
    },
  ],
  [
    "waitAll",
    async function fromMyProgram(writ) {
      return await writ.waitAll([jobIdNumber(1), jobIdNumber(2)]);
    },
  ],
  [
    "results",
    async function fromMyProgram(writ) {
      for await (const _ of writ.results([jobIdNumber(1), jobIdNumber(2)])) return;
    },
  ],
];

const anyJob = defineJob("any");
const wrongCalls: [string, RegExp, GrpcCall][] = [
  [
    "submit with a wrong delay",
    /^WritError: delay: "soon" is not a length of time/,
    async function fromMyProgram(writ) {
      return await writ.submit({ type: "a", delay: "soon" });
    },
  ],
  [
    "submit of a definition with a wrong moment",
    /^WritError: run_at: "soon" is not a moment/,
    async function fromMyProgram(writ) {
      return await writ.submit(anyJob, {}, { runAt: "soon" });
    },
  ],
  [
    "submitBatch with a wrong delay",
    /^WritError: delay: "soon" is not a length of time/,
    async function fromMyProgram(writ) {
      return await writ.submitBatch(anyJob, [{}], { delay: "soon" });
    },
  ],
  [
    "run with a wrong delay",
    /^WritError: delay: "soon" is not a length of time/,
    async function fromMyProgram(writ) {
      return await writ.run(anyJob, {}, { submit: { delay: "soon" } });
    },
  ],
];

test.each(wrongCalls)("an error of %s has the stack of its caller", async (_name, message, call) => {
  const error = await call(await open(403, "PERMISSION_DENIED")).catch((thrown: unknown) => thrown);
  expect((error as WritError).stack).toMatch(message);
  expect((error as WritError).stack).toContain("fromMyProgram");
});

test("an error of a worker's start has the stack of its caller", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "writ-caller-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const hub = await startTinyHub((_, response) => sendError(response, 403, "PERMISSION_DENIED"));
  onTestFinished(() => hub[Symbol.asyncDispose]());
  const worker = new Worker({ url: hub.url, token: "t", dataDir, logger: silentLogger });
  async function fromMyProgram() {
    await worker.handle("a", () => 1).start();
  }
  const error = await fromMyProgram().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WritError);
  expect((error as WritError).stack).toContain("fromMyProgram");
});

test.each(calls)("O-24: an error of %s has the stack of its caller", async (_name, call) => {
  const writ = await open(403, "PERMISSION_DENIED");
  const error = await call(writ).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WritError);
  expect((error as WritError).stack).toMatch(
    /^WritError: refused with PERMISSION_DENIED\n(.*\n)*.*fromMyProgram/,
  );
});

test("O-24: a closed client is not an unreachable hub, also for what was under way", async () => {
  const hub = await startTinyHub(({ path }, response) => {
    if (path !== "/health") sendJson(response, 200, jobView({ status: "running" }));
  });
  onTestFinished(() => hub[Symbol.asyncDispose]());
  const writ = new Writ({ url: hub.url });
  await writ.get(jobIdNumber(1));
  const open = writ.wait(jobIdNumber(1)).catch((thrown: unknown) => thrown);
  await expect.poll(() => hub.seen.length).toBeGreaterThan(2);
  writ.close();
  await expect(writ.get(jobIdNumber(1))).rejects.toMatchObject({ code: "CLIENT_CLOSED" });
  expect(await open).toMatchObject({ code: "CLIENT_CLOSED" });
});
