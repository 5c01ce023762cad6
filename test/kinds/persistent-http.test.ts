import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { openLogger } from "../../src/runtime/log/logger.ts";
import { listHttpWorkers } from "../../src/worker/doctor.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { issueTokens } from "../support/tokens.ts";
import { kindStage, processOf } from "./stage.ts";

const stage = kindStage();

function shout(port: number, input: object) {
  const command = [...stage.node("shout.mjs"), "--port", String(port)];
  return { kind: "persistent_http", worker_command: command, port, job_input: input };
}

/** Ends a job that would go on: its worker gives it back, and the worker of the next test would run it. */
async function cancel(id: string): Promise<void> {
  await stage.hub.must("DELETE", `/jobs/${id}`, { token: stage.hub.admin });
  await stage.ended(id);
}

test("one process serves job after job of every class that it accepts, and its logs are the output of each", async () => {
  await stage.startWorker();
  const port = await freePort();
  const first = await stage.submit(shout(port, { text: "hello" }));
  const one = await stage.ended(first);
  expect(one).toMatchObject({ status: "completed", attempts: 1, result: { shouted: "HELLO" } });
  const second = await stage.submit(shout(port, { text: "again" }), { type: "shout.v2" });
  const two = await stage.ended(second);
  expect(two).toMatchObject({ status: "completed", result: { shouted: "AGAIN" } });
  expect(processOf(two)).toBe(processOf(one));
  expect(await stage.output(first)).toBe("shouting hello\n");
  expect(await stage.output(second)).toBe("shouting again\n");
});

test("a plain Python server that serves one request at a time, and answers success, is a worker", async () => {
  await stage.startWorker();
  const port = await freePort();
  const command = ["/usr/bin/python3", `${stage.programs}/shout.py`, String(port)];
  const run = { kind: "persistent_http", worker_command: command, port, job_input: { text: "hello" } };
  const ids = await Promise.all(Array.from({ length: 5 }, () => stage.submit(run)));
  for (const id of ids) {
    expect(await stage.ended(id)).toMatchObject({ status: "completed", result: { shouted: "HELLO" } });
    expect(await stage.output(id)).toBe("shouting hello\n");
  }
});

test("a job that its worker rejects fails at once, with the worker's own code", async () => {
  await stage.startWorker();
  const id = await stage.submit(shout(await freePort(), { text: "x" }), { type: "whisper.v1" });
  expect(await stage.ended(id)).toMatchObject({
    status: "failed",
    fail_reason: "INVALID_JOB",
    fail_detail: "JOB_NOT_ACCEPTED",
    fail_history: [{ reason: "UNKNOWN_JOB_CLASS: whisper.v1 is not a class of this worker" }],
  });
});

test("a job that fails has the worker's code and message, and what it logged", async () => {
  await stage.startWorker();
  const id = await stage.submit(shout(await freePort(), {}), { max_attempts: 1 });
  expect(await stage.ended(id)).toMatchObject({
    status: "failed",
    fail_reason: "EXECUTION_ERROR",
    fail_history: [{ reason: "JOB_EXECUTION_ERROR: the input has no text" }],
  });
  expect(await stage.output(id, "stderr")).toBe("the input has no text\n");
});

test("100 jobs at once on one worker end as they should, each with its own output", async () => {
  await stage.startWorker({ slots: 100 });
  const port = await freePort();
  const ids = await Promise.all(
    Array.from({ length: 100 }, (_, n) => stage.submit(shout(port, { text: `job ${n}`, sleep_ms: 200 }))),
  );
  const jobs: JobView[] = [];
  for (const id of ids) jobs.push(await stage.ended(id));
  expect(
    jobs.map(({ status, attempts, result }) => [status, attempts, (result as { shouted: string }).shouted]),
  ).toEqual(ids.map((_, n) => ["completed", 1, `JOB ${n}`]));
  expect(new Set(jobs.map(processOf)).size).toBe(1);
  const outputs = await Promise.all(ids.map((id) => stage.output(id)));
  expect(outputs).toEqual(ids.map((_, n) => `shouting job ${n}\n`));
});

test("an operator sees which processes run: in the worker's list and in its log", async () => {
  const logFile = join(stage.programs, "../worker.log");
  const logger = openLogger({ file: logFile, level: "info" });
  const worker = await stage.startWorker({ logger });
  const [port, otherPort] = [await freePort(), await freePort()];
  for (const at of [port, otherPort]) await stage.ended(await stage.submit(shout(at, { text: "x" })));
  const listed = await listHttpWorkers(worker.home);
  expect(listed).toMatchObject(
    [port, otherPort].map((at) => ({
      tenant_id: "default",
      port: at,
      command: shout(at, {}).worker_command,
      log: join(worker.home, `logs/http-workers/default-${at}.err.log`),
    })),
  );
  process.kill(listed[0]!.pid, "SIGKILL");
  await eventually("only the other is left", async () => (await listHttpWorkers(worker.home)).length === 1);
  await worker.stop({ keepHome: true });
  expect(await listHttpWorkers(worker.home)).toEqual([]);
  logger.close();
  const lines = readFileSync(logFile, "utf8").trim().split("\n");
  const told = lines.map((line) => JSON.parse(line)).filter(({ msg }) => /worker process/.test(msg));
  expect(told.map(({ msg, port: at }) => [msg, at])).toEqual([
    ["a worker process has started", port],
    ["a worker process has started", otherPort],
    ["a worker process has ended", port],
    ["a worker process has ended", otherPort],
  ]);
});

test("what a job logs can be seen while it runs", async () => {
  await stage.startWorker();
  const id = await stage.submit(shout(await freePort(), { text: "live", sleep_ms: 600_000 }));
  await eventually("its output is there", async () => (await stage.output(id)) === "shouting live\n");
  expect(await stage.get(id)).toMatchObject({ status: "running" });
  await cancel(id);
});

test("another command of the same tenant takes over the port of a worker that has nothing to do", async () => {
  await stage.startWorker();
  const port = await freePort();
  const mine = await stage.ended(await stage.submit(shout(port, { text: "mine" })));
  const run = shout(port, { text: "other" });
  const other = { ...run, worker_command: [...run.worker_command, "--another"] };
  const taken = await stage.ended(await stage.submit(other, { max_attempts: 1 }));
  expect(taken).toMatchObject({ status: "completed", result: { shouted: "OTHER" } });
  expect(processOf(taken)).not.toBe(processOf(mine));
});

test("another command, or other secrets, on the port of a worker that is busy is refused in one line", async () => {
  const file = join(stage.programs, "../secret");
  writeFileSync(file, "correct-horse", { mode: 0o600 });
  await stage.startWorker({ settings: { secrets: { API_KEY: { file, tenants: ["default"] } } } });
  const port = await freePort();
  const run = shout(port, { text: "busy", sleep_ms: 600_000 });
  const busy = await stage.submit(run);
  await eventually("it runs", async () => (await stage.output(busy)) === "shouting busy\n");
  const who = `the worker "${run.worker_command.join(" ").slice(0, 80)}…" on port ${port}`;
  const reasonOf = async (other: object) =>
    (await stage.ended(await stage.submit({ ...run, ...other }, { max_attempts: 1 }))).fail_history[0];
  expect(await reasonOf({ worker_command: ["sleep", "60"] })).toMatchObject({
    detail: "WORKER_NOT_READY",
    reason: `${who} still has a job; use another port, or wait until it has none`,
  });
  expect(await reasonOf({ secrets: ["API_KEY"] })).toMatchObject({
    detail: "WORKER_NOT_READY",
    reason: `${who}, started with other secrets, still has a job; use another port, or wait until it has none`,
  });
  await cancel(busy);
});

test("the port of another tenant's worker is refused without a word about it", async () => {
  await stage.startWorker();
  const tokens = await issueTokens(stage.hub);
  const port = await freePort();
  const mine = await stage.ended(await stage.submit(shout(port, { text: "mine" })));
  const body = { type: "shout.v1", run: shout(port, { text: "yours" }), max_attempts: 1 };
  const { id } = (await stage.hub.must("POST", "/jobs", { token: tokens.eve, body })).json<{
    id: string;
  }>();
  expect(await stage.ended(id)).toMatchObject({
    status: "failed",
    fail_detail: "WORKER_NOT_READY",
    fail_history: [
      {
        reason: `port ${port} is used by another program on this machine, which this worker did not start for you; use another port, or end that program`,
      },
    ],
  });
  const again = await stage.ended(await stage.submit(shout(port, { text: "still mine" })));
  expect(processOf(again)).toBe(processOf(mine));
});

test("a stranger that listens on the port is given no job", async () => {
  await stage.startWorker();
  const seen: string[] = [];
  const stranger = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    response.end("{}");
  });
  await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve));
  const { port } = stranger.address() as AddressInfo;
  const job = await stage.ended(await stage.submit(shout(port, { text: "x" }), { max_attempts: 1 }));
  expect(job).toMatchObject({ status: "failed", fail_detail: "WORKER_NOT_READY" });
  expect(job.fail_history[0]!.reason).toMatch(
    new RegExp(
      `^port ${port} is used by .+ \\(pid ${process.pid}\\), which this worker did not start for you; `,
    ),
  );
  expect(seen).toEqual([]);
  await new Promise((resolve) => stranger.close(resolve));
});

test("nothing of the jobs and of the process is left in the work directory", async () => {
  const worker = await stage.startWorker();
  const port = await freePort();
  await stage.ended(await stage.submit(shout(port, { text: "x" })));
  const { workDir } = worker;
  await eventually("only the process has files", () => readdirSync(join(workDir, "jobs")).length === 1);
  await worker.stop({ keepHome: true });
  expect(readdirSync(join(workDir, "jobs"))).toEqual([]);
});
