import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { readBlock, root } from "../docs/page.ts";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import { runCli } from "../support/run-cli.ts";

/** The page's programs, and what the Python package promises, against a hub that can be killed. */
const page = "docs/other-languages.md";
const run = promisify(execFile);
const probe = spawnSync("python3", ["-c", "import cryptography, ensurepip, venv"]);
const capable = probe.status === 0;
const note = capable ? "" : " (not capable: no python3 with venv and cryptography)";
const hub = new HubProcess({ WRIT_LEASE_MS: "3000", WRIT_BACKOFF_SCALE: "0", WRIT_LOG_LEVEL: "warn" });
let writ: Writ;
let dir: string;
let python: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "writ-languages-"));
  await hub.start();
  writ = new Writ({ url: hub.url, token: hub.token });
  const { keys } = (await (await fetch(`${hub.url}/api/v1/keys`, { headers: bearer() })).json()) as Keys;
  writeFileSync(join(dir, "keys.pem"), keys.map(({ public_key }) => public_key).join(""));
  if (!capable) return;
  // As the page says it; Debian's package cryptography is seen, and nothing is downloaded.
  await run("python3", ["-m", "venv", "--system-site-packages", join(dir, "v")]);
  python = join(dir, "v/bin/python");
  await run(join(dir, "v/bin/pip"), ["install", "--no-index", "--quiet", join(root, "python")]);
});
afterAll(async () => {
  writ.close();
  await hub.remove();
  rmSync(dir, { recursive: true, force: true });
});

type Keys = { keys: { public_key: string }[] };

function bearer() {
  return { authorization: `Bearer ${hub.token}` };
}

function environment() {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: dir,
    WRIT_HUB_URL: hub.url,
    WRIT_TOKEN: hub.token,
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

async function verified(id: string): Promise<void> {
  const { code, stdout } = await runCli("jobctl", ["verify", id], {
    env: { WRIT_HOME: hub.home, PATH: process.env["PATH"] ?? "" },
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

  test("the client works without the package cryptography, and a worker says what it needs in one line", async () => {
    const code = `
import sys
sys.modules["cryptography"] = None
from writ import Worker, Writ, WritError
print(Writ().list(type="none"))
try:
    Worker()
except WritError as error:
    print(error.code, str(error).count("\\n"), "cryptography" in error.message)`;
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
    except JobFailed as failed: return failed.code, failed.reason
print(failure("code")); print(failure("nan")); print(failure("other"))
id = hub.submit("py.fails", "print")
print(b"".join(hub.stream(id)), hub.result(id))
for call in [lambda: hub.get("00000000-0000-4000-8000-000000000000"), lambda: hub.submit("a b"), lambda: hub.submit("x", priority=99),
             lambda: hub.cancel(id), lambda: hub.wait(hub.submit("nobody"), 0.2), lambda: Writ("http://203.0.113.1", "t"), lambda: Writ("http://127.0.0.1:1", "t", retry_sec=0).list()]:
    try: call(); print("nothing")
    except WritError as error: print(error.code)
worker.stop(); working.join(); print(id)`;
    const lines = (await inPython(code)).trim().split("\n");
    const id = lines.pop()!;
    expect(lines).toEqual([
      "('INVALID_JOB', 'not like this')",
      "('EXECUTION_ERROR', 'ValueError: NaN and infinities are not JSON')",
      `('EXECUTION_ERROR', "KeyError: 'other'")`,
      "b'one\\ntwo \\xc3\\xa9\\n' said",
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
});

test("the worker in plain sh runs a job that verifies, and refuses a claim that was changed", async () => {
  const place = join(dir, "shell");
  mkdirSync(place);
  const claim = codeOf("sh claim");
  const script = `${claim}\nprintf %s "$boot_id" > boot_id\n`;
  const options = { cwd: place, env: environment() };
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
  expect(await writ.get(id)).toMatchObject({ status: "completed", result: { greeting: "Hello, Ada" } });
  await verified(id);
});
