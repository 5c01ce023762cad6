import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { readBlock, root } from "../docs/page.ts";
import { startCable } from "../support/cable.ts";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import { runCli } from "../support/run-cli.ts";

/** The page's programs, and what the Python package promises, against a hub that can be killed. */
const page = "docs/other-languages.md";
const run = promisify(execFile);
const probe = spawnSync("python3", ["-c", "import ensurepip, ssl, venv"]);
const capable = probe.status === 0;
const note = capable ? "" : " (not capable: no python3 with venv and OpenSSL)";
const hub = new HubProcess({ WRIT_LEASE_MS: "3000", WRIT_BACKOFF_SCALE: "0", WRIT_LOG_LEVEL: "warn" });
let writ: Writ;
let dir: string;
let python: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "writ-languages-"));
  await hub.start();
  writ = new Writ({ url: hub.url, token: hub.token });
  if (!capable) return;
  // As the page says it: no package of the machine is seen, and nothing is downloaded.
  await run("sh", ["-ec", codeOf("python install")], { env: environment(), cwd: root });
  python = join(dir, "writ-python/bin/python");
  const env = { WRIT_HOME: hub.home, PATH: process.env["PATH"] ?? "" };
  const { code } = await runCli("writ", ["keys", "export", "--out", join(dir, "keys.pem")], { env });
  expect(code).toBe(0);
});
afterAll(async () => {
  writ.close();
  await hub.remove();
  rmSync(dir, { recursive: true, force: true });
});

function environment({ url, token } = hub) {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: dir,
    WRIT_HUB_URL: url,
    WRIT_TOKEN: token,
    WRIT_SIGNING_KEYS_FILE: join(dir, "keys.pem"),
  };
}

function codeOf(name: string): string {
  return /```\w+\n([\s\S]*?)```/.exec(readBlock(page, name))![1]!;
}

/** Runs a program in Python; what it printed. */
async function inPython(code: string): Promise<string> {
  return (await run(python, ["-c", code], { env: environment(), cwd: dir })).stdout;
}

/** Where a server of this test listens, on a free port and until the test is over. */
async function urlOf(server: Server): Promise<string> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function verified(id: string, { home } = hub): Promise<void> {
  const { code, stdout } = await runCli("jobctl", ["verify", id], {
    env: { WRIT_HOME: home, PATH: process.env["PATH"] ?? "" },
  });
  expect([code, stdout]).toEqual([0, expect.stringContaining("signed by the worker")]);
}

describe.runIf(capable)(`the Python package${note}`, () => {
  test("the page's program submits 1,000 jobs and handles them, and the results verify", async () => {
    const code = codeOf("python");
    expect(code.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(20);
    const first = (await inPython(code)).trim();
    const done = await Array.fromAsync(writ.list({ type: "double", status: "completed" }), ({ id }) => id);
    expect(done).toHaveLength(1000);
    for (const id of [first, done[0]!, done[500]!]) await verified(id);
  });

  test("the client works without Ed25519, and a worker says what it needs in one line", async () => {
    const code = `
import ctypes, sys
def missing(name):
    raise OSError(name)
ctypes.CDLL = missing
sys.modules["cryptography"] = None
from writ import Worker, Writ, WritError
print(Writ().list(type="none"))
try:
    Worker()
except WritError as error:
    print(error.code, str(error).count("\\n"), "libcrypto" in error.message)`;
    expect(await inPython(code)).toBe("[]\nCONFIG_INVALID 0 True\n");
  });

  test("a claim that was changed in any way is refused before it is read", async () => {
    await writ.submit({ type: "forged", params: { n: 1.5, text: "é\u{1f600}" } });
    const code = `
import json, os, uuid
from writ.connection import Connection
from writ.trust import Refused, VerifyingKey, verify_claim
hub, boot = Connection(), uuid.uuid4().hex
hub.call("POST", "/workers/register", {"worker_id": "judge", "cores": 1, "ram_gb": 1, "tags": [], "types": ["forged"], "document_format": 2, "boot_id": boot})
claim = hub.call("POST", "/jobs/claim", {"worker_id": "judge", "boot_id": boot, "wait_ms": 5000})
keys = [VerifyingKey(open(os.environ["WRIT_SIGNING_KEYS_FILE"]).read())]
def verdict(changed={}, keys=keys, worker="judge", boot=boot):
    try:
        return verify_claim({**claim, **changed}, keys, worker, boot).document["run"]["params"]["text"]
    except Refused as refused:
        return refused.detail
print(json.dumps([
    verdict(),
    verdict({"document": claim["document"].replace("1.5", "1.6")}),
    verdict({"document": claim["document"] + " "}),
    verdict({"lease": claim["lease"].replace("judge", "jury.")}),
    verdict({"signature": claim["lease_signature"]}),
    verdict({"signature": claim["signature"].replace("base64:", "")}),
    verdict({"signature": claim["signature"] + "="}),
    verdict(keys=[]),
    verdict(worker="jury"),
    verdict(boot="another"),
]))
hub.call("POST", f"/jobs/{claim['id']}/result", {"worker_id": "judge", "attempt": claim["attempt"], "token": claim["token"], "result": None})`;
    const bad = "INVALID_SIGNATURE";
    expect(JSON.parse(await inPython(code))).toEqual([
      "é\u{1f600}",
      bad,
      bad,
      bad,
      bad,
      bad,
      bad,
      "KEY_NOT_TRUSTED",
      bad,
      "REPLAY",
    ]);
  });

  test("errors are exceptions with a code, output is streamed, and what is no JSON fails the job", async () => {
    const code = `
import threading
from writ import JobError, JobFailed, TimedOut, Worker, Writ, WritError
worker = Worker(worker_id="errors", slots=2)
@worker.handle("py.fails")
def fails(params, job):
    if params == "code": raise JobError("not like this", "INVALID_JOB")
    if params == "nan": return float("nan")
    if params == "print":
        job.write("one\\n"); job.progress(50, "half"); job.write("two é\\n"); return "said"
    raise KeyError(params)
working = threading.Thread(target=worker.run); working.start()
hub = Writ()
def failure(params):
    try: return hub.result(hub.submit("py.fails", params, max_attempts=1))
    except JobFailed as failed: return failed.code, failed.fail_code, failed.reason
print(failure("code")); print(failure("nan")); print(failure("other"))
id = hub.submit("py.fails", "print")
print(b"".join(hub.stream(id)), hub.result(id))
named = [hub.submit("py.fails", "print", idempotency_key="mine"), *hub.submit_many([{"type": "py.fails", "params": "print", "idempotency_key": "mine"}])]
print(len(set(named)))
for call in [lambda: hub.get("00000000-0000-4000-8000-000000000000"), lambda: hub.submit("a b"), lambda: hub.submit("x", priority=99),
             lambda: hub.cancel(id), lambda: hub.wait(hub.submit("nobody"), 0.2), lambda: Writ("http://203.0.113.1", "t"), lambda: Writ("http://127.0.0.1:1", "t", retry_sec=0).list()]:
    try: call(); print("nothing")
    except WritError as error: print(error.code)
worker.stop(); working.join(); print(id)`;
    const lines = (await inPython(code)).trim().split("\n");
    const id = lines.pop()!;
    expect(lines).toEqual([
      "('JOB_FAILED', 'INVALID_JOB', 'not like this')",
      "('JOB_FAILED', 'EXECUTION_ERROR', 'ValueError: NaN and infinities are not JSON')",
      `('JOB_FAILED', 'EXECUTION_ERROR', "KeyError: 'other'")`,
      "b'one\\ntwo \\xc3\\xa9\\n' said",
      "1",
      "NOT_FOUND",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "STATE_CONFLICT",
      "TIMED_OUT",
      "CONFIG_INVALID",
      "HUB_UNREACHABLE",
    ]);
    await verified(id);
  });

  test("a worker outlives its hub, ends what is cancelled, and stops in order at SIGTERM", async () => {
    writeFileSync(
      join(dir, "steady.py"),
      `
import os
from writ import Worker
worker = Worker(worker_id="steady", slots=2, log=print)
@worker.handle("py.waits")
def waits(params, job):
    while not job.cancelled.wait(0.05):
        if os.path.exists(params["until"]): return "waited"
    return "cancelled"
worker.run()
print("stopped")`,
    );
    const child = spawn(python, ["-u", "steady.py"], { env: environment(), cwd: dir });
    let printed = "";
    child.stdout.on("data", (bytes) => {
      printed += String(bytes);
    });
    const exited = new Promise((resolve) => child.once("exit", resolve));
    const running = (id: string) =>
      eventually("it runs", async () => (await writ.get(id)).status === "running");
    const first = await writ.submit({ type: "py.waits", params: { until: "first" } });
    await running(first.id);
    await hub.kill("SIGKILL");
    await hub.start();
    writeFileSync(join(dir, "first"), "");
    await eventually("it has ended", async () => (await writ.get(first.id)).completed_at !== null);
    expect(await writ.get(first.id)).toMatchObject({ status: "completed", attempt: 1, result: "waited" });

    const second = await writ.submit({ type: "py.waits", params: { until: "never" } });
    await running(second.id);
    await writ.cancel(second.id);
    await eventually("it has ended", async () => (await writ.get(second.id)).completed_at !== null);
    expect(await writ.get(second.id)).toMatchObject({ fail_code: "CANCELLED", partial_result: "cancelled" });

    const third = await writ.submit({ type: "py.waits", params: { until: "third" } });
    await running(third.id);
    child.kill("SIGTERM");
    writeFileSync(join(dir, "third"), "");
    expect([await exited, printed]).toEqual([0, expect.stringMatching(/stopped\n$/)]);
    expect(await writ.get(third.id)).toMatchObject({ status: "completed", result: "waited" });
  });

  test("a stream goes on after its hub has stopped in order and started again", async () => {
    const code = `
import os, threading
from writ import Worker, Writ
worker = Worker(worker_id="talks", log=lambda line: None)
@worker.handle("py.talks")
def talks(params, job):
    job.write("before\\n")
    while not os.path.exists("go-on"): job.cancelled.wait(0.05)
    job.write("after\\n")
working = threading.Thread(target=worker.run); working.start()
hub = Writ()
for piece in hub.stream(hub.submit("py.talks")): print(piece.decode(), end="", flush=True)
worker.stop(); working.join()`;
    const child = spawn(python, ["-c", code], { env: environment(), cwd: dir });
    const closed = once(child, "close");
    let printed = "";
    child.stdout.on("data", (bytes) => {
      printed += String(bytes);
    });
    await eventually("it has begun", () => printed === "before\n");
    await hub.kill("SIGTERM");
    await hub.start();
    writeFileSync(join(dir, "go-on"), "");
    expect([await closed, printed]).toEqual([[0, null], "before\nafter\n"]);
  });

  test("addresses that cannot have been meant are refused, and the error of all that fail names each", async () => {
    const code = `
from writ import Writ, WritError
one, two = "http://127.0.0.1:1", "http://127.0.0.1:2"
for url in [f"{one},", f"{one},{one}/", [], [one, "http://203.0.113.1"], [f"http://127.0.0.1:{n}" for n in range(1, 18)], f"{one}, {two}"]:
    try: Writ(url, "t", retry_sec=0).list(); print("nothing")
    except WritError as error: print(error.code, one in error.message and two in error.message)`;
    const refused = "CONFIG_INVALID False\n";
    expect(await inPython(code)).toBe(`${refused.repeat(5)}HUB_UNREACHABLE True\n`);
  });

  test("a new address is followed, but not believed when it does not know the token", async () => {
    const stranger = createServer((_request, response) => response.writeHead(401).end("{}"));
    const targets = [await urlOf(stranger), hub.url];
    const old = createServer((_request, response) => {
      const error = { code: "HUB_MOVED", message: "moved", details: { moved_to: [targets.shift()] } };
      response.writeHead(503).end(JSON.stringify({ error }));
    });
    const code = `
from writ import Writ, WritError
hub = Writ("${await urlOf(old)}", retry_sec=0)
try: hub.list()
except WritError as error: print(error.code, error.message)
print(type(hub.list()).__name__)`;
    const printed = await inPython(code);
    expect(printed).toMatch(/^HUB_UNREACHABLE .*does not accept the token/);
    expect(printed.split("\n").slice(1)).toEqual(["list", ""]);
  });

  test("client and worker move to the next address when one dies, and nothing is lost or doubled", async () => {
    const cables = await Promise.all([1, 2].map(() => startCable(Number(new URL(hub.url).port))));
    onTestFinished(async () => void (await Promise.all(cables.map((cable) => cable.stop()))));
    const code = `
import threading
from writ import Worker, Writ
worker = Worker(worker_id="moves", slots=2, log=lambda line: None)
@worker.handle("py.moves")
def moves(params, job):
    for n in range(20): job.write(f"{params}.{n}\\n")
    return params
working = threading.Thread(target=worker.run); working.start()
hub = Writ()
ids = [hub.submit("py.moves", n) for n in range(30)]
print([hub.result(id) for id in ids] == list(range(30)))
print(all(b"".join(hub.stream(id)).decode() == "".join(f"{n}.{m}\\n" for m in range(20)) for n, id in enumerate(ids)))
worker.stop(); working.join()`;
    const env = { ...environment(), WRIT_HUB_URL: cables.map(({ url }) => url).join(",") };
    let isOver = false;
    const printed = run(python, ["-c", code], { env, cwd: dir }).finally(() => {
      isOver = true;
    });
    const ids = () => Array.fromAsync(writ.list({ type: "py.moves" }), ({ id, status }) => `${id} ${status}`);
    for (let round = 0; !isOver; round++) {
      const before = await ids();
      cables[round % 2]!.cut();
      await eventually("it goes on", async () => isOver || (await ids()).join() !== before.join());
      cables[round % 2]!.mend();
    }
    expect((await printed).stdout).toBe("True\nTrue\n");
    expect(await ids()).toHaveLength(30);
  });
});

test("the worker in plain sh runs a job that verifies, and refuses a claim that was changed", async () => {
  // With its usual lease: several programs run between a claim and its report, which take seconds on a busy machine.
  const own = new HubProcess({ WRIT_LOG_LEVEL: "warn" });
  onTestFinished(() => own.remove());
  await own.start();
  const producer = new Writ({ url: own.url, token: own.token });
  onTestFinished(() => producer.close());
  const place = join(dir, "shell");
  mkdirSync(place);
  const claim = codeOf("sh claim");
  const script = `${claim}\nprintf %s "$boot_id" > boot_id\n`;
  const keys = join(place, "keys.pem");
  await runCli("writ", ["keys", "export", "--out", keys], {
    env: { WRIT_HOME: own.home, PATH: process.env["PATH"] ?? "" },
  });
  const options = { cwd: place, env: { ...environment(own), WRIT_SIGNING_KEYS_FILE: keys } };
  execFileSync("sh", ["-c", script], options);
  const report = `${claim.slice(0, claim.indexOf("# The worker's own key"))}boot_id=$(cat boot_id)\n${codeOf("sh report")}`;
  copyFileSync(join(place, "claim.json"), join(place, "claim.good"));
  const good = readFileSync(join(place, "claim.good"), "utf8");
  for (const [from, to] of [
    ["Ada", "Eve"],
    ['\\"attempt\\":1', '\\"attempt\\":2'],
  ] as const) {
    writeFileSync(join(place, "claim.json"), good.replace(from, to));
    const refused = spawnSync("sh", ["-c", report], options);
    expect([from, refused.status, String(refused.stderr)]).toEqual([
      from,
      1,
      expect.stringContaining("is not signed by the hub"),
    ]);
  }
  writeFileSync(join(place, "claim.json"), good);
  expect(execFileSync("sh", ["-c", report], { ...options, encoding: "utf8" })).toBe('{"status":"completed"}');
  const { id } = JSON.parse(readFileSync(join(place, "submitted.json"), "utf8")) as { id: string };
  expect(await producer.get(id)).toMatchObject({ status: "completed", result: { greeting: "Hello, Ada" } });
  await verified(id, own);

  // As the page says it: one file.
  writeFileSync(join(place, "worker.sh"), `${claim}${codeOf("sh report")}`);
  const whole = execFileSync("sh", ["worker.sh"], { ...options, encoding: "utf8" });
  expect(whole).toMatch(/\{"status":"completed"\}$/);

  // A worker may not submit. The answer goes into a file, and its reason must be seen all the same.
  const { token } = await producer.createToken({ role: "worker", workerId: "shell-1" });
  const refused = spawnSync("sh", ["-c", claim], { ...options, env: { ...options.env, WRIT_TOKEN: token } });
  expect([refused.status, String(refused.stderr)]).toEqual([1, expect.stringContaining("PERMISSION_DENIED")]);
});
