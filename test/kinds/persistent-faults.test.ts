import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { obstacle } from "../sandbox/cage-stage.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { freshName } from "../support/jobs.ts";
import { kindStage, processOf } from "./stage.ts";

const stage = kindStage();

/** Time enough for an answer to DELETE on a machine that is busy. */
const patient = { env: { WRIT_STOP_GRACE_MS: "60000" } };

type Flag = "--with-delete" | `--ready-after=${number}`;

function odd(port: number, input: { act: string; [more: string]: unknown }, flags: Flag[] = []) {
  const command = [...stage.node("odd.mjs"), "--port", String(port), ...flags];
  return { kind: "persistent_http", worker_command: command, port, job_input: input };
}

/** As messages name the worker. */
function who(port: number, flags: Flag[] = []): string {
  const name = [...stage.node("odd.mjs"), "--port", port, ...flags].join(" ");
  return `the worker "${name.length > 80 ? `${name.slice(0, 80)}…` : name}" on port ${port}`;
}

/** The end of the log of a worker that has written nothing more than that it listens. */
function logged(port: number): string {
  return `; its log default-${port}.out.log ends with: odd worker on port ${port}`;
}

/** The job runs in its worker process. */
async function served(id: string): Promise<void> {
  await eventually(`job ${id} is served`, async () => (await stage.get(id)).progress === 50);
}

/** The process that listens on a port, as this machine numbers it. */
function listenerOf(port: number): number {
  const rows = execFileSync("ss", ["-Hltnp", `sport = :${port}`], { encoding: "utf8" });
  return Number(/pid=(\d+)/.exec(rows)?.[1]);
}

/** The job of this input ends when the gate is opened, however long everything else takes. */
function newGate(): { input: { act: string; file: string }; open(): void } {
  const file = join(stage.programs, freshName("gate"));
  return { input: { act: "until", file }, open: () => writeFileSync(file, "") };
}

async function cancel(id: string): Promise<void> {
  await stage.hub.must("DELETE", `/jobs/${id}`, { token: stage.hub.admin });
}

test("a worker that is slow to start is waited for", async () => {
  await stage.startWorker();
  const run = odd(await freePort(), { act: "echo", value: 1 }, ["--ready-after=1500"]);
  expect(await stage.ended(await stage.submit(run))).toMatchObject({ status: "completed", attempts: 1 });
});

test("a job whose time passes while its worker is not ready says so", async () => {
  await stage.startWorker();
  const port = await freePort();
  const run = odd(port, { act: "echo" }, ["--ready-after=3600000"]);
  const job = await stage.ended(await stage.submit(run, { timeout_sec: 3, max_attempts: 1 }));
  expect(job).toMatchObject({ status: "failed", fail_code: "TIMEOUT" });
  expect(job.fail_history[0]!.reason).toMatch(
    /^ran longer than 3 s: the worker ".*" on port \d+ (answered GET \/health\/ready with HTTP 503 instead of 200|does not accept connections)/,
  );
});

test("a worker that ends before it is ready is told with its error", async () => {
  await stage.startWorker();
  const port = await freePort();
  const script = "process.stderr.write('before\\n'); throw new TypeError('no model');";
  const run = {
    kind: "persistent_http",
    worker_command: [`${stage.programs}/node`, "-e", script],
    port,
  };
  expect(await stage.ended(await stage.submit(run, { max_attempts: 1 }))).toMatchObject({
    status: "failed",
    fail_detail: "WORKER_NOT_READY",
    fail_history: [
      {
        reason: expect.stringMatching(
          /^the worker ".*" on port \d+ exited with code 1 before it was ready: TypeError: no model$/,
        ),
      },
    ],
  });
});

test("a command that does not exist is told as for any other job", async () => {
  await stage.startWorker();
  const run = { kind: "persistent_http", worker_command: ["no-such-worker"], port: await freePort() };
  expect(await stage.ended(await stage.submit(run, { max_attempts: 1 }))).toMatchObject({
    status: "failed",
    exit_code: 127,
    fail_detail: "SPAWN_FAILED",
  });
});

test.each([
  [
    "garbage",
    "HTTP_REQUEST_FAILED",
    'answered GET /job/ID with HTTP 200 and "all is well"; expected HTTP 200 and {"job_id", "status", …}',
  ],
  ["wrong-job", "HTTP_REQUEST_FAILED", 'answered GET /job/ID with the status of job "other"'],
  [
    "unknown-status",
    "HTTP_REQUEST_FAILED",
    'answered GET /job/ID with the status "done"; use pending, running, completed, success or failed',
  ],
  [
    "forget",
    "HTTP_REQUEST_FAILED",
    "answered GET /job/ID with HTTP 404: it does not know the job that it accepted",
  ],
  [
    "refuse-garbage",
    "JOB_SUBMIT_FAILED",
    'answered POST /job with HTTP 200 and "yes"; expected {"accepted": true, "job_id": "ID"}',
  ],
  ["not-http", "JOB_SUBMIT_FAILED", "answered POST /job with something that is not HTTP"],
  ["hang-up", "JOB_SUBMIT_FAILED", "closed the connection instead of answering POST /job"],
])(
  "a worker that answers %s fails its job, and the message says what it answered",
  async (act, detail, what) => {
    await stage.startWorker();
    const port = await freePort();
    const id = await stage.submit(odd(port, { act }), { max_attempts: 1 });
    const reason = `${who(port)} ${what.replace("ID", id)}${logged(port)}`;
    expect(await stage.ended(id)).toMatchObject({
      status: "failed",
      fail_detail: detail,
      fail_history: [{ reason }],
    });
  },
);

test("a worker that is ready for one job at a time is waited for", async () => {
  await stage.startWorker();
  const [port, gate] = [await freePort(), newGate()];
  const first = await stage.submit(odd(port, { ...gate.input, act: "until-alone" }));
  await served(first);
  const second = await stage.submit(odd(port, { act: "echo" }));
  await eventually("the second has begun", async () => (await stage.get(second)).status === "running");
  gate.open();
  expect(await stage.ended(first)).toMatchObject({ status: "completed", attempts: 1 });
  expect(await stage.ended(second)).toMatchObject({ status: "completed", attempts: 1 });
});

test("a crash fails exactly the jobs that the process had; the next job gets a new process", async () => {
  await stage.startWorker();
  const [port, otherPort, gate] = [await freePort(), await freePort(), newGate()];
  const elsewhere = await stage.submit(odd(otherPort, gate.input));
  const bystander = await stage.submit(odd(port, gate.input));
  await served(elsewhere);
  await served(bystander);
  const culprit = await stage.submit(odd(port, { act: "crash" }), { max_attempts: 1 });
  expect(await stage.ended(culprit)).toMatchObject({
    status: "failed",
    fail_detail: "WORKER_EXIT_ERROR",
    fail_history: [{ reason: `${who(port)} exited with code 7 in the middle of the job${logged(port)}` }],
  });
  gate.open();
  expect(await stage.ended(bystander)).toMatchObject({ status: "completed", attempts: 2 });
  expect(await stage.ended(elsewhere)).toMatchObject({ status: "completed", attempts: 1 });
});

test("killing the process fails exactly the jobs that it had", async () => {
  await stage.startWorker();
  const [port, otherPort] = [await freePort(), await freePort()];
  const more = { max_attempts: 1 };
  const mine = [
    await stage.submit(odd(port, { act: "never" }), more),
    await stage.submit(odd(port, { act: "never" }), more),
  ];
  const gate = newGate();
  const other = await stage.submit(odd(otherPort, gate.input), more);
  for (const id of [...mine, other]) await served(id);
  process.kill(listenerOf(port), "SIGKILL");
  for (const id of mine) {
    expect(await stage.ended(id)).toMatchObject({
      status: "failed",
      fail_detail: "SIGNALED",
      fail_history: [{ reason: `${who(port)} was killed by SIGKILL in the middle of the job` }],
    });
  }
  gate.open();
  expect(await stage.ended(other)).toMatchObject({ status: "completed" });
});

test("a cancelled job ends alone if its worker has DELETE", async () => {
  await stage.startWorker(patient);
  const port = await freePort();
  const cancelled = await stage.submit(odd(port, { act: "never" }, ["--with-delete"]));
  const gate = newGate();
  const other = await stage.submit(odd(port, gate.input, ["--with-delete"]));
  await served(cancelled);
  await served(other);
  await cancel(cancelled);
  expect(await stage.ended(cancelled)).toMatchObject({ status: "failed", fail_code: "CANCELLED" });
  gate.open();
  expect(await stage.ended(other)).toMatchObject({ status: "completed", attempts: 1, attempt: 1 });
});

test("without DELETE a cancel restarts the process: its other jobs run again without charge, except one that may run only once", async () => {
  await stage.startWorker();
  const port = await freePort();
  const before = await stage.ended(await stage.submit(odd(port, { act: "echo" })));
  const cancelled = await stage.submit(odd(port, { act: "never" }));
  const gate = newGate();
  const other = await stage.submit(odd(port, gate.input));
  const once = await stage.submit(odd(port, gate.input), { max_attempts: 1 });
  for (const id of [cancelled, other, once]) await served(id);
  await cancel(cancelled);
  expect(await stage.ended(cancelled)).toMatchObject({ status: "failed", fail_code: "CANCELLED" });
  gate.open();
  const again = await stage.ended(other);
  expect(again).toMatchObject({ status: "completed", attempts: 1, attempt: 2 });
  expect(processOf(again)).not.toBe(processOf(before));
  const reason = "its only attempt was ended: the worker process was restarted to end another of its jobs";
  expect(await stage.ended(once)).toMatchObject({
    status: "failed",
    fail_code: "WORKER_DISCONNECTED",
    fail_history: [{ reason }],
  });
});

test("a job that takes too long is ended there, and the process lives", async () => {
  await stage.startWorker(patient);
  const port = await freePort();
  const flags: Flag[] = ["--with-delete"];
  const before = await stage.ended(await stage.submit(odd(port, { act: "echo" }, flags)));
  const id = await stage.submit(odd(port, { act: "never" }, flags), { timeout_sec: 1, max_attempts: 1 });
  expect(await stage.ended(id)).toMatchObject({ status: "failed", fail_code: "TIMEOUT" });
  const after = await stage.ended(await stage.submit(odd(port, { act: "echo" }, flags)));
  expect(processOf(after)).toBe(processOf(before));
});

test("a worker that hangs is restarted for the next job", async () => {
  await stage.startWorker();
  const port = await freePort();
  const id = await stage.submit(odd(port, { act: "hang" }), { timeout_sec: 1, max_attempts: 1 });
  expect(await stage.ended(id)).toMatchObject({ status: "failed", fail_code: "TIMEOUT" });
  const next = await stage.submit(odd(port, { act: "echo" }));
  expect(await stage.ended(next)).toMatchObject({ status: "completed" });
});

test("a job that writes more than it may is ended, and exactly as much is kept", async () => {
  await stage.startWorker({ settings: { outputBytesMax: 500_000 } });
  const run = odd(await freePort(), { act: "flood" }, ["--with-delete"]);
  const id = await stage.submit(run, { max_attempts: 1 });
  expect(await stage.ended(id)).toMatchObject({
    status: "failed",
    fail_detail: "OUTPUT_LIMIT",
    output: { stdout: 500_000 },
  });
});

test("F-48: a worker that is stopped gives its jobs back without charge, and leaves no process", async () => {
  const worker = await stage.startWorker({ env: { WRIT_DRAIN_MS: "0" } });
  const port = await freePort();
  const id = await stage.submit(odd(port, { act: "never" }), { max_attempts: 2 });
  await served(id);
  const pid = listenerOf(port);
  await worker.stop({ keepHome: true });
  expect(await stage.get(id)).toMatchObject({ status: "pending", attempts: 0 });
  expect(existsSync(`/proc/${pid}`)).toBe(false);
  await cancel(id);
});

test("a secret reaches the worker process, and is masked in output, result, error, progress and the process's own log", async () => {
  const secret = "correct-horse-battery";
  const file = join(stage.programs, "../key");
  writeFileSync(file, secret, { mode: 0o600 });
  const worker = await stage.startWorker({
    settings: { secrets: { API_KEY: { file, tenants: ["default"] } } },
  });
  const port = await freePort();
  const withKey = (act: string, more = {}) => ({ ...odd(port, { act, ...more }), secrets: ["API_KEY"] });
  const told = await stage.submit(withKey("tell"));
  const stars = "*".repeat(secret.length);
  expect(await stage.ended(told)).toMatchObject({ status: "completed", result: { key: stars } });
  expect(await stage.output(told)).toBe(`the key is ${stars}\n`);
  expect(await stage.output(told, "stderr")).toBe(`again: ${stars}\n`);
  const failed = await stage.ended(await stage.submit(withKey("tell-error"), { max_attempts: 1 }));
  expect(failed.fail_history[0]!.reason).toBe(`bad key ${stars}`);
  const log = readFileSync(join(worker.home, `logs/http-workers/default-${port}.out.log`), "utf8");
  expect(log).toBe(`odd worker on port ${port}\nmy log: ${stars}\n`);

  // O-07: what a worker says of its progress, too.
  const gate = newGate();
  const running = await stage.submit(withKey("tell-progress", { file: gate.input.file }));
  await eventually("it tells its progress", async () => (await stage.get(running)).progress === 70);
  expect(await stage.get(running)).toMatchObject({ progress_detail: `with ${stars}` });
  gate.open();
  await stage.ended(running);
  const events = await stage.hub.must("GET", `/jobs/${running}/events`, { token: stage.hub.admin });
  expect(events.text).not.toContain(secret);
  const without = await stage.ended(await stage.submit({ ...withKey("tell"), secrets: ["OTHER"] }));
  expect(without).toMatchObject({ status: "failed", fail_detail: "NO_SUCH_SECRET" });
});

test.skipIf(obstacle !== null)(
  "O-03: a worker with network: none is reached on its port, inside its own network",
  async () => {
    await stage.startWorker();
    const run = odd(await freePort(), { act: "echo", value: 1 });
    const job = await stage.ended(await stage.submit(run, { limits: { network: "none" }, max_attempts: 1 }));
    expect(job).toMatchObject({ status: "completed", result: { value: 1 } });
    expect(job.isolation?.applied).toContain("network");
  },
);
