import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { warningLogger } from "../../src/runtime/log/logger.ts";
import { Final, RetryIn, Worker } from "../../src/worker/index.ts";
import { startBotServer, type TestServer } from "../support/bot-server.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { hasPython, pythonEnv, pythonNote } from "../support/python.ts";
import { activeKey } from "../support/worker.ts";

const dir = mkdtempSync(join(tmpdir(), "writ-final-"));
let hook: TestServer;
let hub: TestHub;
let writ: Writ;

beforeAll(async () => {
  hook = await startBotServer();
  hub = await startTestHub({
    WRIT_WEBHOOK_URL: hook.url,
    WRIT_WEBHOOK_SECRET: "0123456789abcdef",
    ...stillEnv,
  });
  writ = new Writ({ url: hub.url, token: hub.admin });
  writeFileSync(join(dir, "keys.pem"), activeKey(hub).publicKeyPem);
});
afterAll(async () => {
  writ?.close();
  await hub?.stop();
  await hook?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const declined = {
  status: "failed",
  attempts: 1,
  max_attempts: 5,
  fail_code: "EXECUTION_ERROR",
  fail_reason: "EXECUTION_ERROR",
  fail_detail: "CARD_DECLINED",
  fail_history: [expect.objectContaining({ reason: "the card was declined" })],
};

async function ended(type: string, params: unknown = null) {
  const { id } = await writ.submit({ type, params, max_attempts: 5 });
  return writ.wait(id);
}

/** Alerts are sent in the order of what they are about: when this one was heard, no other is on its way. */
async function alertOf(type: string) {
  const { id } = await ended(type, { how: "invalid" });
  await eventually("the alert arrives", () => hook.heard.some(({ body }) => body.includes(id)));
  const events = hook.heard.map(({ body }) => JSON.parse(body) as { event: string; job_id: string });
  hook.heard.length = 0;
  return { id, events };
}

test("O-23 a Final of a function ends its job without a retry, a trace, a warning or an alert", async () => {
  const warnings: string[] = [];
  const worker = new Worker({
    url: hub.url,
    token: hub.admin,
    workerId: "payer",
    dataDir: join(dir, "worker"),
    logger: warningLogger((line) => warnings.push(line)),
  });
  worker.handle("ts.pay", ({ params }) => {
    if (params !== null) throw Object.assign(new Error("no amount"), { code: "INVALID_JOB" });
    throw new Final("the card was declined", { code: "CARD_DECLINED" });
  });
  await worker.start();
  onTestFinished(() => worker.stop());

  expect(await ended("ts.pay")).toMatchObject({ ...declined, output: { stderr: 0 } });
  expect(warnings).toEqual([]);
  const { id, events } = await alertOf("ts.pay");
  expect(events).toEqual([expect.objectContaining({ event: "JOB_FAILED", job_id: id })]);
});

/** The first attempt asks for its next one at once; by the policy it would come in a day. */
const patient = { max: 1, delay_sec: 86_400 };
const asked = {
  status: "completed",
  result: 2,
  attempts: 2,
  max_attempts: 5,
  retry: patient,
  fail_history: [
    expect.objectContaining({ code: "EXECUTION_ERROR", detail: "RATE_LIMITED", reason: "ask again" }),
  ],
  output: expect.objectContaining({ stderr: 0 }),
};

test("a RetryIn of a function says when the next attempt starts, and leaves no trace or warning", async () => {
  const warnings: string[] = [];
  const worker = new Worker({
    url: hub.url,
    token: hub.admin,
    workerId: "asker",
    dataDir: join(dir, "asker"),
    logger: warningLogger((line) => warnings.push(line)),
  });
  worker.handle("ts.ask", ({ attempt }) => {
    if (attempt === 1) throw new RetryIn(0, "ask again", { code: "RATE_LIMITED" });
    return attempt;
  });
  await worker.start();
  onTestFinished(() => worker.stop());
  const { id } = await writ.submit({ type: "ts.ask", retry: patient });
  expect(await writ.wait(id)).toMatchObject(asked);
  expect(warnings).toEqual([]);
});

test("RetryIn takes no delay that the hub would not accept", () => {
  for (const seconds of [-1, Number.NaN, 604_801])
    expect(() => new RetryIn(seconds, "later")).toThrow("seconds: must be a number from 0 to 604800");
});

const program = `
from writ import Final, JobError, RetryIn, Worker
worker = Worker(worker_id="python", slots=1)

@worker.handle("py.pay")
def pay(params, job):
    if params is not None: raise JobError("no amount", "INVALID_JOB")
    raise Final("the card was declined", "CARD_DECLINED")

@worker.handle("py.ask")
def ask(params, job):
    if job.attempt == 1: raise RetryIn(0, "ask again", "RATE_LIMITED")
    return job.attempt
worker.run()`;

test.runIf(hasPython)(
  `O-23 a Final of a Python function ends its job in the same way${pythonNote}`,
  async () => {
    const env = pythonEnv({
      HOME: dir,
      WRIT_HUB_URL: hub.url,
      WRIT_TOKEN: hub.admin,
      WRIT_SIGNING_KEYS_FILE: join(dir, "keys.pem"),
    });
    const child = spawn("python3", ["-u", "-c", program], {
      env,
      cwd: dir,
      stdio: ["ignore", "ignore", "pipe"],
    });
    onTestFinished(async () => {
      if (child.exitCode === null && child.kill("SIGTERM")) await once(child, "exit");
    });
    let printed = "";
    child.stderr.setEncoding("utf8").on("data", (piece: string) => {
      printed += piece;
    });
    expect(await ended("py.pay")).toMatchObject({ ...declined, output: { stderr: 0 } });
    const { id: patientId } = await writ.submit({ type: "py.ask", retry: patient });
    expect(await writ.wait(patientId)).toMatchObject(asked);
    expect(printed).toBe("");
    const { id } = await ended("py.pay", { how: "invalid" });
    expect(await writ.get(id)).toMatchObject({ fail_code: "INVALID_JOB" });
    expect(hook.heard.map(({ body }) => body).join()).not.toContain("EXECUTION_ERROR");
  },
);
