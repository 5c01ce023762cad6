import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { nextVersion } from "./next-version.mjs";

// Runs in the machine of run.mjs, as root, at each boot. The first boot installs the services as docs/deploy.md says and kills
// them. The second one first only looks: nothing has been started by hand. Then it installs the next version, as that page says.
// Every line is a report to the host.
const hubHome = "/var/lib/writ";
const workerHome = "/var/lib/writ-worker";
const memory = "/root/before.json";
const url = "http://127.0.0.1:3000";
/** An emulated machine is ten times slower, and its host may be busy. */
const waitMsMax = 20 * 60_000;

const report = (line) => process.stdout.write(`SCENARIO ${line}\n`);

try {
  if (existsSync(memory)) await afterThePowerCut(JSON.parse(readFileSync(memory, "utf8")));
  else await untilThePowerCut();
} catch (error) {
  report(`FAILED: ${error.message.split("\n")[0]}`);
}

async function untilThePowerCut() {
  mkdirSync("/etc/writ", { recursive: true });
  // A third of the usual lease, so that a killed worker is noticed sooner.
  writeFileSync(
    "/etc/writ/hub.env",
    "WRIT_LEASE_MS=20000\nWRIT_REAPER_INTERVAL_MS=1000\nWRIT_BACKOFF_SCALE=0\n",
  );
  execFileSync("writ", ["install", "hub"]);
  await check("`writ install hub` starts a hub", hubAnswers);
  mkdirSync(workerHome, { mode: 0o700 });
  const add = ["workers", "add", "vm", "--home", hubHome, "--out", `${workerHome}/agents.yaml`];
  execFileSync("writ", add);
  execFileSync("writ", ["install", "worker"]);
  await check("`writ install worker` starts a worker that registers", workerIsThere);

  const done = await submit(["echo", "before"]);
  const long = await submit(["sleep", "36000"]);
  const waiting = await submit(["true"], { requires: { tags: ["nobody-has-this"] } });
  await check("a job runs", async () => (await job(done)).status === "completed");
  await check("its cage is complete", async () => (await job(done)).isolation.missing.length === 0);
  await check("a long job runs", async () => (await job(long)).status === "running");

  await killService("writ-hub", hubAnswers);
  await check("after kill -9 of the hub, the long job still runs in its first attempt", async () => {
    const { status, attempt } = await job(long);
    return status === "running" && attempt === 1;
  });
  await check("the output of before is there", async () => (await stdoutOf(done)) === "before\n");

  await killService("writ-worker", workerIsThere);
  const next = await submit(["echo", "next"]);
  await check(
    "after kill -9 of the worker, a new job runs",
    async () => (await job(next)).status === "completed",
  );
  await check("and the long job runs again", async () => isRunningAfter(long, 1));

  const { attempt } = await job(long);
  remember({ done, long, waiting, attempt, keys: await call("GET", "/keys") });
  report("cut the power");
}

async function afterThePowerCut({ done, long, waiting, attempt, keys }) {
  await check("after the power cut, the hub runs by itself", hubAnswers);
  await check("and the worker too", workerIsThere);
  await check("jobs that had ended are there, with their output", async () => {
    return (await job(done)).status === "completed" && (await stdoutOf(done)) === "before\n";
  });
  await check("the job that waited still waits", async () => (await job(waiting)).status === "pending");
  await check("the long job runs again", () => isRunningAfter(long, attempt));
  await check("the keys are the same", async () => {
    return JSON.stringify((await call("GET", "/keys")).keys) === JSON.stringify(keys.keys);
  });
  await check("`jobctl run` runs a new job", async () => {
    return String(execFileSync("jobctl", ["--home", hubHome, "run", "echo", "after"])) === "after\n";
  });
  await check("the audit trail holds", async () => {
    return String(execFileSync("writ", ["--home", hubHome, "audit", "verify"])).includes("is intact");
  });
  await upgrade();
  report("end");
}

/** A worker is given no command but `npm install`: it is killed here, as by a power cut. A hub is started again by hand. */
async function upgrade() {
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "/root/next.tgz"]);
  await check("the next version is installed while the services run", async () => {
    return String(execFileSync("writ", ["--version"])).trim() === nextVersion;
  });
  await killService("writ-worker", workerIsThere);
  await check("the worker is one of the next version", async () => {
    return (await call("GET", "/workers")).some(({ id, version }) => id === "vm" && version === nextVersion);
  });
  execFileSync("writ", ["upgrade-check", "--home", hubHome]);
  execFileSync("systemctl", ["restart", "writ-hub"]);
  await check("the hub is one of the next version", async () => {
    return (await call("GET", "/healthz")).version === nextVersion;
  });
  await check("`jobctl run` runs a job after the upgrade", async () => {
    return String(execFileSync("jobctl", ["--home", hubHome, "run", "echo", "upgraded"])) === "upgraded\n";
  });
}

/** Repeats until it is so; an error means not yet. */
async function check(what, isSo) {
  const deadline = Date.now() + waitMsMax;
  let why = "it stayed false";
  while (Date.now() < deadline) {
    try {
      if (await isSo()) return report(`ok ${what}`);
    } catch (error) {
      why = error.message.split("\n")[0];
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error(`${what}: ${why}`);
}

async function killService(unit, isBack) {
  const pidOf = () => String(execFileSync("systemctl", ["show", "-p", "MainPID", "--value", unit])).trim();
  const before = pidOf();
  process.kill(Number(before), "SIGKILL");
  await check(`systemd starts ${unit} again after kill -9`, async () => !["0", before].includes(pidOf()));
  await check(`${unit} is back`, isBack);
}

async function hubAnswers() {
  return Array.isArray(await call("GET", "/workers"));
}

/** Registered by the process that runs now: one that was killed is shown as silent, or not at all. */
async function workerIsThere() {
  const worker = (await call("GET", "/workers")).find(({ id }) => id === "vm");
  return worker !== undefined && worker.status === "active" && Date.now() - worker.last_heartbeat < 15_000;
}

async function isRunningAfter(id, attempt) {
  const now = await job(id);
  return now.status === "running" && now.attempt > attempt;
}

function job(id) {
  return call("GET", `/jobs/${id}`);
}

function stdoutOf(id) {
  return call("GET", `/jobs/${id}/output/stdout`);
}

async function submit(argv, more = {}) {
  const body = { type: "exec", timeout_sec: 0, max_attempts: 9, run: { kind: "exec", argv }, ...more };
  return (await call("POST", "/jobs", body)).id;
}

async function call(method, path, body) {
  const authorization = `Bearer ${readFileSync(`${hubHome}/admin.token`, "utf8").trim()}`;
  const headers = { authorization, ...(body && { "content-type": "application/json" }) };
  const signal = AbortSignal.timeout(60_000);
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers,
    signal,
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return answer.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
}

/** On the disk before the power goes: only what Writ itself keeps is put to the test. */
function remember(facts) {
  const file = openSync(memory, "w");
  writeSync(file, JSON.stringify(facts));
  fsyncSync(file);
  closeSync(file);
  const folder = openSync("/root", "r");
  fsyncSync(folder);
  closeSync(folder);
}
