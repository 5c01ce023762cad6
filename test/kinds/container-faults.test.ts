import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type Container, tools } from "./containers.ts";
import { kindStage } from "./stage.ts";

const stage = kindStage();
const workers = join(import.meta.dirname, "workers");
const tool = tools.find(({ obstacle }) => obstacle === null);
const box = (name: string, run: () => Promise<void>) =>
  tool === undefined ? test.skip(`${name} (not capable: ${tools[0]!.obstacle})`, run) : test(name, run);

let container: Container;
let dir: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "writ-container-faults-"));
  if (tool !== undefined) container = await tool.start();
});
afterAll(async () => {
  await container?.remove();
  rmSync(dir, { recursive: true, force: true });
});

function startWorker(settings: object = {}, exec = container.exec) {
  const env = { PATH: process.env["PATH"]! };
  const containers = { byName: { box: { exec } }, env, hubUrl: stage.hub.url, ca: undefined };
  return stage.startWorker({ settings: { containers, ...settings } });
}

const script = (text: string, more: object = {}) => ({
  kind: "exec_per_job",
  worker_command: ["sh", "-c", text],
  container: "box",
  ...more,
});
const odd = (port: number, act: string, more: object = {}) => ({
  kind: "persistent_http",
  worker_command: [process.execPath, join(workers, "odd.mjs"), "--port", String(port)],
  port,
  job_input: { act },
  container: "box",
  ...more,
});
const processes = () =>
  execFileSync(container.exec[0]!, [...container.exec.slice(1), "ps", "-e", "-o", "args"], {
    encoding: "utf8",
  });

async function failureOf(run: object, more: object = {}) {
  const id = await stage.submit(run, { max_attempts: 1, ...more });
  const job = await stage.ended(id);
  expect(job.status).toBe("failed");
  return { code: job.fail_reason, detail: job.fail_detail, reason: job.fail_history[0]?.reason, job, id };
}

box("a program that leads into the container and is not installed is named", async () => {
  await startWorker({}, ["/no/such/docker", "exec", "box"]);
  expect(await failureOf(script("true"))).toMatchObject({
    code: "EXECUTION_ERROR",
    detail: "SPAWN_FAILED",
    reason: "/no/such/docker, which leads into container box, is not installed on this worker",
  });
});

box("a container without an agent is named", async () => {
  await startWorker({}, [...container.exec, "/usr/bin/env", "PATH=/nowhere"]);
  const failure = await failureOf(script("true"));
  expect(failure).toMatchObject({ code: "EXECUTION_ERROR", detail: "SPAWN_FAILED" });
  expect(failure.reason).toMatch(/^writ-agent cannot be started in container box: .*exit code 127/);
});

box("a command that does not pass standard input on is explained", async () => {
  await startWorker({}, ["sh", "-c", 'exec "$@" < /dev/null', "sh", ...container.exec]);
  const failure = await failureOf(script("true"));
  expect(failure).toMatchObject({ code: "EXECUTION_ERROR" });
  expect(failure.reason).toMatch(
    /^the agent in container box failed: --relay: standard input has no line .* -i$/,
  );
});

box("a job that asks for limits, or for a secret that is not there, is refused", async () => {
  await startWorker();
  const limited = await failureOf(script("true"), { limits: { memory: "64M" } });
  expect(limited).toMatchObject({
    code: "INVALID_JOB",
    reason: "a job in a container cannot have limits of its own: memory",
  });
  expect(await failureOf(script("true", { secrets: ["KEY"] }))).toMatchObject({ detail: "NO_SUCH_SECRET" });
});

box("a job for a container that no worker has waits, and the reason is given", async () => {
  await startWorker();
  const id = await stage.submit({ ...script("true"), container: "elsewhere" });
  const why = await stage.hub.must("GET", `/jobs/${id}/why`, { token: stage.hub.admin });
  expect(why.text).toContain("has no container elsewhere");
  await stage.hub.must("DELETE", `/jobs/${id}`, { token: stage.hub.admin });
});

box("a job that runs too long leaves nothing behind", async () => {
  await startWorker();
  const failure = await failureOf(script("echo begun; sleep 4712"), { timeout_sec: 1 });
  expect(failure).toMatchObject({ code: "TIMEOUT", reason: "ran longer than 1 s" });
  expect(await stage.output(failure.id)).toBe("begun\n");
  await eventually("nothing is left", () => !processes().includes("sleep 4712"));
});

box("a worker that stops at once ends its job there and gives it back", async () => {
  const worker = await startWorker();
  const id = await stage.submit(script('trap "" TERM; echo begun; while :; do sleep 4716; done'));
  await eventually("it has begun", async () => (await stage.output(id)) === "begun\n");
  await worker.stop();
  expect(processes()).not.toContain("sleep 4716");
  expect(await stage.get(id)).toMatchObject({ status: "pending", completed_at: null });
  await stage.hub.must("DELETE", `/jobs/${id}`, { token: stage.hub.admin });
});

box("an agent that is killed in the middle ends the attempt, and its job is ended too", async () => {
  await startWorker();
  const id = await stage.submit(script("echo begun; sleep 4713"), { max_attempts: 1 });
  await eventually("it has begun", async () => (await stage.output(id)) === "begun\n");
  execFileSync(container.exec[0]!, [...container.exec.slice(1), "pkill", "-KILL", "-f", "run-job --relay"]);
  const job = await stage.ended(id);
  expect(job).toMatchObject({ status: "failed", fail_reason: "WORKER_DISCONNECTED" });
  expect(job.fail_history[0]?.reason).toMatch(/^the agent in container box ended without a report: /);
  await eventually("nothing is left", () => !processes().includes("sleep 4713"));
});

box("secrets go in on standard input and come out masked", async () => {
  const file = join(dir, "key");
  writeFileSync(file, "quite secret\n", { mode: 0o600 });
  await startWorker({ secrets: { API_KEY: { file, tenants: ["default"] } } });
  const id = await stage.submit(
    script('echo "out $API_KEY"; echo "err $API_KEY" >&2; echo "{\\"key\\":\\"$API_KEY\\"}"', {
      secrets: ["API_KEY"],
    }),
  );
  expect(await stage.ended(id)).toMatchObject({ status: "completed", result: { key: "*".repeat(12) } });
  expect(await stage.output(id)).toContain(`out ${"*".repeat(12)}\n`);
  expect(await stage.output(id, "stderr")).toBe(`err ${"*".repeat(12)}\n`);

  const told = await stage.submit(odd(await freePort(), "tell", { secrets: ["API_KEY"] }));
  expect(await stage.ended(told)).toMatchObject({ status: "completed", result: { key: "*".repeat(12) } });
  expect(await stage.output(told)).toBe(`the key is ${"*".repeat(12)}\n`);
  expect(await stage.output(told, "stderr")).toBe(`again: ${"*".repeat(12)}\n`);
});

box("more output than is allowed ends the job", async () => {
  await startWorker({ outputBytesMax: 100_000 });
  const failure = await failureOf(
    script("while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done"),
  );
  expect(failure).toMatchObject({ code: "EXECUTION_ERROR", detail: "OUTPUT_LIMIT" });
  expect(await stage.output(failure.id)).toHaveLength(100_000);
});

box(
  "HTTP workers there are reused, and their crashes, garbage and hangs are failures of their jobs",
  async () => {
    await startWorker();
    const port = await freePort();
    const first = await stage.ended(await stage.submit(odd(port, "echo")));
    const second = await stage.ended(await stage.submit(odd(port, "echo")));
    expect((second.result as { process: string }).process).toBe(
      (first.result as { process: string }).process,
    );
    expect(await failureOf(odd(port, "garbage"))).toMatchObject({ detail: "HTTP_REQUEST_FAILED" });
    expect(await failureOf(odd(port, "crash"))).toMatchObject({
      detail: "WORKER_EXIT_ERROR",
      reason: "the worker exited with code 7 while it had the job",
    });
    const again = await stage.ended(await stage.submit(odd(port, "echo")));
    expect(again.status).toBe("completed");
    expect(await failureOf(odd(port, "hang"), { timeout_sec: 5 })).toMatchObject({ code: "TIMEOUT" });
    await eventually("the worker is gone", () => !processes().includes(`odd.mjs --port ${port}`));
  },
);

box("a job ends when the worker that watches over it is gone", async () => {
  const [program = "", ...args] = [...container.exec, "writ-agent", "run-job", "--relay"];
  const child = spawn(program, args, { stdio: ["pipe", "ignore", "ignore"] });
  const payload = {
    job_id: "watched",
    job_class: "x",
    worker_command: ["sh", "-c", "sleep 4714"],
    interface: { kind: "exec_per_job" },
  };
  child.stdin.write(`${JSON.stringify(payload)}\n`);
  await eventually("it runs", () => processes().includes("sleep 4714"));
  child.stdin.end();
  await new Promise((resolve) => child.once("exit", resolve));
  expect(processes()).not.toContain("sleep 4714");
});
