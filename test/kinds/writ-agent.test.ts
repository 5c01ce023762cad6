import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { identityOf } from "../../src/agent/workers/process-identity.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { AgentStage, finished, workersDir } from "./agent-stage.ts";

let stage: AgentStage;
let port: number;

beforeEach(async () => {
  stage = new AgentStage();
  port = await freePort();
});
afterEach(() => stage.remove());

const shell = (job_id: string, job_input: unknown = { text: "hey" }) => ({
  job_id,
  job_class: "shout.v1",
  worker_command: [join(workersDir, "shout.sh")],
  interface: { kind: "exec_per_job" },
  job_input,
});
const http = (job_id: string, job_input: unknown, worker_command: string[]) => ({
  job_id,
  job_class: "shout.v1",
  worker_command,
  interface: { kind: "persistent_http", port },
  job_input,
});
const node = process.execPath;
const odd = (...more: string[]) => [node, join(workersDir, "odd.mjs"), "--port", String(port), ...more];
/** The command lines of processes that have this text in theirs. */
function runningWith(text: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        return "";
      }
    })
    .filter((line) => line.includes(text));
}
type Shown = { process: string };
const isRunning = (pid: number) => identityOf(pid) !== null;

describe("one process per job", () => {
  test("the last line of a shell script is the result, and its state and logs are where they belong", async () => {
    const report = await stage.runJob(shell("one"));
    expect(report).toEqual({
      success: true,
      job_id: "one",
      job_class: "shout.v1",
      exit_code: 0,
      result: { shouted: "HEY" },
      code: 0,
    });
    expect(stage.state("jobs", "one")).toMatchObject({
      job_id: "one",
      job_class: "shout.v1",
      status: "success",
      worker_kind: "exec_per_job",
      worker_pid: expect.any(Number),
      worker_state_pid: null,
      error: null,
      meta: { exit_code: 0, http_status: null },
    });
    expect(stage.log("jobs", "one.out.log")).toBe('shouting hey\n{"shouted":"HEY"}\n');
    for (const line of stage.log("agent.log").trim().split("\n")) expect(line).toContain("job=one");
  });

  test("a result that no pipe takes at once is reported whole", async () => {
    const letters = 900 * 1024;
    const command = `printf '"'; head -c ${letters} /dev/zero | tr '\\0' x; echo '"'`;
    const report = await stage.runJob({ ...shell("large"), worker_command: ["sh", "-c", command] });
    expect(report).toMatchObject({ success: true, result: "x".repeat(letters) });
  });

  test("its exit code is the agent's, and what it wrote is kept", async () => {
    const report = await stage.runJob(shell("two", {}));
    expect(report).toMatchObject({
      success: false,
      code: 3,
      exit_code: 3,
      result: { shouted: null },
      error: { code: "WORKER_EXIT_ERROR", message: "exited with code 3" },
    });
    const shown = await stage.run(["job-log", "--job-id", "two", "--tail", "1"]);
    expect(shown).toEqual({ code: 0, stdout: '{"shouted":null}\n', stderr: "the input has no text\n" });
  });

  test("the payload may be a file or base64, and the container's environment reaches the worker", async () => {
    const payload = JSON.stringify({
      ...shell("three"),
      worker_command: [
        "sh",
        "-c",
        'echo "{\\"path\\":\\"$PATH\\",\\"id\\":\\"$JOB_ID\\",\\"agent\\":\\"$WRIT_AGENT_STATE_DIR\\"}"',
      ],
    });
    const file = join(stage.dir, "payload.json");
    writeFileSync(file, payload);
    const base64 = Buffer.from(payload).toString("base64");
    for (const args of [
      ["--payload-file", file],
      ["--payload-base64", base64],
    ]) {
      const { code, stdout } = await stage.run(["run-job", ...args]);
      expect(code).toBe(0);
      expect(JSON.parse(stdout).result).toEqual({ path: process.env["PATH"], id: "three", agent: "" });
    }
  });

  test("a command that is not there, one that runs too long, and one that is stopped", async () => {
    const missing = await stage.runJob({ ...shell("a"), worker_command: ["/no/such/worker"] });
    expect(missing).toMatchObject({ code: 127, error: { code: "SPAWN_FAILED" } });

    const late = await stage.runJob({
      ...shell("b"),
      worker_command: ["sleep", "1000", "#"],
      timeout_sec: 1,
    });
    expect(late).toMatchObject({ success: false, error: { code: expect.any(String) } });

    const looping = [
      "sh",
      "-c",
      'trap "" TERM; sleep 1000 & echo {\\"child\\":$!}; while :; do sleep 0.1; done',
    ];
    const running = finished(
      stage.start(["run-job"], JSON.stringify({ ...shell("c"), worker_command: looping })),
    );
    const { pid } = await eventually("the job runs", () => {
      const line = existsSync(join(stage.logDir, "jobs", "c.out.log")) ? stage.log("jobs", "c.out.log") : "";
      return line === "" ? null : { pid: JSON.parse(line).child as number };
    });
    const twice = await stage.runJob(shell("c"));
    expect(twice).toMatchObject({ code: 125, error: { code: "STATE_CONFLICT" } });
    const stopped = await stage.run(["stop-job", "--job-id", "c"]);
    expect(JSON.parse(stopped.stdout)).toEqual({ success: true, job_id: "c", was_running: true });
    expect(JSON.parse((await running).stdout)).toMatchObject({ error: { code: "CANCELLED" } });
    await eventually("its child is gone", () => !isRunning(pid));
  });

  test("a job whose process cannot be recorded leaves none behind", async () => {
    const bin = join(stage.dir, "bin");
    mkdirSync(bin);
    // The agent makes its pipes just before it starts the process: then its state cannot be written any more.
    const state = join(stage.stateDir, "jobs/one.json");
    const script = `#!/bin/sh\n/usr/bin/mkfifo "$@"; rm ${state}; mkdir -p ${state}/taken\n`;
    writeFileSync(join(bin, "mkfifo"), script, { mode: 0o755 });
    const sleeping = `600${port}`;
    const env = { ...stage.env, PATH: `${bin}:${stage.env["PATH"]}` };
    const agent = new AgentStage(env);
    const report = await agent.runJob({
      ...shell("one"),
      worker_command: ["sh", "-c", `exec sleep ${sleeping}`],
    });
    await agent.remove();
    expect(report).toMatchObject({ success: false, exit_code: 125 });
    expect(runningWith(sleeping)).toEqual([]);
  });

  test("stop-job ends a job whose agent was killed", async () => {
    const payload = { ...shell("orphan"), worker_command: ["sh", "-c", "echo begun; sleep 1000"] };
    const agent = stage.start(["run-job"], JSON.stringify(payload));
    const path = join(stage.stateDir, "jobs", "orphan.json");
    const worker_pid = await eventually("it runs", () =>
      existsSync(path) ? (stage.state("jobs", "orphan").worker_pid as number | null) : null,
    );
    agent.kill("SIGKILL");
    await finished(agent);
    expect(isRunning(worker_pid)).toBe(true);
    const { code } = await stage.run(["stop-job", "--job-id", "orphan"]);
    expect(code).toBe(0);
    await eventually("it is gone", () => !isRunning(worker_pid));
    expect(stage.state("jobs", "orphan")).toMatchObject({ status: "failed", error: { code: "CANCELLED" } });
  });

  test("stop-job leaves the next attempt alone, however soon it begins", async () => {
    await stage.runJob(shell("one"));
    const next = join(stage.dir, "next.json");
    const place = join(stage.stateDir, "jobs/one.json");
    const sleepers = [1, 2].map(() => spawn("sleep", ["600"]));
    // In place of an agent: when it is asked to stop its job, the next attempt of the job is already there.
    const script = `trap 'mv ${next} ${place}; exit' TERM; echo ready; while :; do sleep 0.01; done`;
    const agent = spawn("sh", ["-c", script]);
    await new Promise((resolve) => agent.stdout.once("data", resolve));
    const ended = new Promise((resolve) => agent.once("exit", resolve));
    const open = { ...stage.state("jobs", "one"), status: "running", completed_at: null };
    const [watching, working] = sleepers.map(({ pid }) => identityOf(pid!));
    writeFileSync(
      next,
      JSON.stringify({ ...open, meta: { ...open.meta, agent: watching, worker: working } }),
    );
    writeFileSync(
      place,
      JSON.stringify({ ...open, meta: { ...open.meta, agent: identityOf(agent.pid!), worker: null } }),
    );
    const stopped = await stage.run(["stop-job", "--job-id", "one"]);
    const alive = sleepers.map(({ pid }) => isRunning(pid!));
    for (const sleeper of sleepers) sleeper.kill("SIGKILL");
    expect(stopped.code).toBe(0);
    await ended;
    expect(alive).toEqual([true, true]);
    expect(stage.state("jobs", "one").status).toBe("running");
  });
});

describe("a persistent HTTP worker", () => {
  test.each([
    // O-14: a program's own code is passed on; the second one gives none.
    ["Node", "JOB_EXECUTION_ERROR", () => [node, join(workersDir, "shout.mjs"), "--port", String(port)]],
    ["Python", "EXECUTION_ERROR", () => ["python3", join(workersDir, "shout.py"), String(port)]],
  ])("written in plain %s serves several jobs, and outlives the calls", async (_, errorCode, command) => {
    const first = await stage.runJob(http("one", { text: "hey" }, command()));
    expect(first).toMatchObject({ success: true, code: 0, result: { shouted: "HEY" } });
    const { pid } = stage.state("workers", `http_${port}`);
    const many = await Promise.all(
      ["a", "b", "c", "d"].map((id) => stage.runJob(http(id, { text: id }, command()))),
    );
    expect(many.map(({ result }) => (result as { shouted: string }).shouted)).toEqual(["A", "B", "C", "D"]);
    expect(stage.state("workers", `http_${port}`)).toMatchObject({
      worker_id: `http_${port}`,
      kind: "persistent_http",
      job_class: "shout.v1",
      port,
      pid,
      status: "ready",
    });
    expect(stage.state("jobs", "a")).toMatchObject({
      worker_pid: pid,
      worker_state_pid: pid,
      meta: { exit_code: 0, http_status: 200 },
    });
    expect(stage.log("jobs", "a.out.log")).toBe("shouting a\n");
    const failed = await stage.runJob(http("e", {}, command()));
    expect(failed).toMatchObject({
      success: false,
      code: 1,
      error: { code: errorCode, message: "the input has no text" },
    });
  });

  test("calls that need a worker at the same moment start one", async () => {
    const reports = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        stage.runJob(http(`job-${n}`, { act: "echo" }, odd("--ready-after", "500"))),
      ),
    );
    const processes = reports.map(({ result }) => (result as { process: string }).process);
    expect(new Set(processes).size).toBe(1);
    expect((await stage.run(["worker-log", "--port", String(port)])).stdout).toBe(
      `odd worker on port ${port}\n`,
    );
  });

  test("a job that it rejects, garbage, and a crash in the middle", async () => {
    const shout = [node, join(workersDir, "shout.mjs"), "--port", String(port)];
    const rejected = await stage.runJob({ ...http("a", { text: "x" }, shout), job_class: "whisper" });
    expect(rejected).toMatchObject({
      error: { code: "UNKNOWN_JOB_CLASS", message: expect.not.stringContaining("UNKNOWN_JOB_CLASS") },
    });
    port = await freePort();
    const garbage = await stage.runJob(http("b", { act: "garbage" }, odd()));
    expect(garbage).toMatchObject({ code: 1, error: { code: "HTTP_REQUEST_FAILED" } });
    const crashed = await stage.runJob(http("c", { act: "crash" }, odd()));
    expect(crashed).toMatchObject({
      error: { code: "WORKER_EXIT_ERROR", message: "the worker exited with code 7 while it had the job" },
    });
    expect(stage.state("workers", `http_${port}`)).toMatchObject({ status: "stopped" });
    const again = await stage.runJob(http("d", { act: "echo" }, odd()));
    expect(again).toMatchObject({ success: true });
  });

  test("a job that hangs is cancelled by DELETE where there is one, else its worker is stopped", async () => {
    await stage.runJob(http("first", { act: "echo" }, odd("--with-delete")));
    const polite = await stage.runJob({
      ...http("a", { act: "never" }, odd("--with-delete")),
      timeout_sec: 1,
    });
    expect(polite).toMatchObject({ success: false });
    const { pid } = stage.state("workers", `http_${port}`);
    expect(isRunning(pid)).toBe(true);
    port = await freePort();
    await stage.runJob(http("second", { act: "echo" }, odd()));
    const { pid: rudePid } = stage.state("workers", `http_${port}`);
    const rude = await stage.runJob({ ...http("b", { act: "never" }, odd()), timeout_sec: 3 });
    expect(rude.error?.code).toMatch(/TIMEOUT/);
    await eventually("the worker is gone", () => !isRunning(rudePid));
  });

  test("one that takes no other job meanwhile is waited for, and keeps the job that it has", async () => {
    const file = join(stage.dir, "go-on");
    const first = stage.runJob(http("first", { act: "until-alone", file }, odd()));
    await eventually("it is busy", async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null);
      return answer?.status === 503;
    });
    const asked = () => stage.log("workers", `http_${port}.log`).match(/asked while/g)?.length ?? 0;
    const before = asked();
    const second = stage.runJob(http("second", { act: "echo", value: 1 }, odd()));
    // More often than an answer may be missing.
    const looked = eventually("the second job has looked", () => asked() > before + 5);
    await Promise.race([looked, first]);
    writeFileSync(file, "");
    const [one, other] = [await first, await second];
    expect(one).toMatchObject({ success: true });
    expect(other).toMatchObject({ success: true, result: { process: (one.result as Shown).process } });
  });

  test("it is not mixed up with another worker, or with a stranger, on its port", async () => {
    await stage.runJob(http("a", { act: "echo" }, odd()));
    const other = await stage.runJob(http("b", { act: "echo" }, odd("--ready-after", "1")));
    expect(other).toMatchObject({
      error: { code: "WORKER_NOT_READY", message: expect.stringContaining("another one") },
    });
    const secret = await stage.runJob({
      ...http("c", { act: "echo" }, odd()),
      secrets: { API_KEY: "quite secret" },
    });
    expect(secret).toMatchObject({
      error: { code: "WORKER_NOT_READY", message: expect.stringContaining("secrets") },
    });

    const stranger = createServer((_, response) => response.end("{}"));
    await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve));
    port = (stranger.address() as { port: number }).port;
    const taken = await stage.runJob(http("d", { act: "echo" }, odd()));
    await new Promise((resolve) => stranger.close(resolve));
    expect(taken).toMatchObject({
      error: { code: "WORKER_NOT_READY", message: expect.stringContaining("not a worker") },
    });
  });

  test("a worker that ends before it is ready, or cannot be started, says how", async () => {
    const early = await stage.runJob(http("a", {}, ["sh", "-c", "echo no luck; exit 4"]));
    expect(early).toMatchObject({
      error: { code: "WORKER_NOT_READY", message: "the worker exited with code 4 before it was ready" },
    });
    expect(stage.log("workers", `http_${port}.log`)).toBe("no luck\n");
    const missing = await stage.runJob(http("b", {}, ["/no/such/worker"]));
    expect(missing).toMatchObject({
      error: { code: "SPAWN_FAILED", message: "command not found: /no/such/worker" },
    });
  });

  test("a worker whose state cannot be written does not stay behind without anybody who knows it", async () => {
    mkdirSync(stage.stateDir);
    writeFileSync(join(stage.stateDir, "workers"), "not a directory");
    const sleeping = `600${port}`;
    const command = ["sh", "-c", `exec sleep ${sleeping}`];
    const wanted = { port, jobClass: "a", command, secrets: {}, fingerprint: "" };
    const kept = await stage.run(["keep-worker"], JSON.stringify(wanted));
    rmSync(join(stage.stateDir, "workers"));
    expect(runningWith(sleeping)).toEqual([]);
    expect(kept).toMatchObject({ code: 1, stdout: '{"error":"its state cannot be written (EEXIST)"}\n' });
  });

  test("O-14: start ends when a command that it should warm up cannot be started", async () => {
    const run = await stage.run(["start", "--warmup", String(port), "--", join(stage.dir, "missing")]);
    expect(run.code).toBe(1);
    expect(run.stderr).toContain(`http_${port} was not warmed up: command not found`);
  });

  test("start warms workers up and shows their logs", async () => {
    const words = ["start", "--from-start", "--warmup", String(port), "--", ...odd("--ready-after", "5")];
    const child = stage.start(words);
    let shown = "";
    child.stdout!.on("data", (text) => {
      shown += text;
    });
    await eventually("the log is shown", () =>
      shown.includes(`worker=http_${port} odd worker on port ${port}\n`),
    );
    await eventually("it is ready", () => stage.state("workers", `http_${port}`).status === "ready");
    child.kill("SIGTERM");
    expect((await finished(child)).code).toBe(0);
    const report = await stage.runJob(http("a", { act: "echo" }, odd("--ready-after", "5")));
    expect(report).toMatchObject({ success: true });
    expect(stage.log("workers", `http_${port}.log`)).toBe(`odd worker on port ${port}\n`);
  });
});
