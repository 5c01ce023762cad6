import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { hasPython, pythonEnv, pythonNote } from "../support/python.ts";
import { activeKey } from "../support/worker.ts";

const execute = promisify(execFile);

describe.runIf(hasPython)(`the Python package${pythonNote}`, () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-python-async-"));
  let hub: TestHub;
  let writ: Writ;

  beforeAll(async () => {
    hub = await startTestHub(stillEnv);
    writ = new Writ({ url: hub.url, token: hub.admin });
    writeFileSync(join(dir, "keys.pem"), activeKey(hub).publicKeyPem);
  });
  afterAll(async () => {
    writ?.close();
    await hub?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const keys = { WRIT_SIGNING_KEYS_FILE: join(dir, "keys.pem") };
  const known = () => ({ HOME: dir, WRIT_HUB_URL: hub.url, WRIT_TOKEN: hub.admin, ...keys });

  async function python(code: string, env: Record<string, string> = known()): Promise<string> {
    return (await execute("python3", ["-c", code], { env: pythonEnv(env), cwd: dir })).stdout.trim();
  }

  /** A worker that works until the end of the test; what it has printed so far. */
  function startWorker(code: string): () => string {
    const child = spawn("python3", ["-u", "-c", code], {
      env: pythonEnv(known()),
      cwd: dir,
      stdio: ["ignore", "ignore", "pipe"],
    });
    onTestFinished(async () => {
      if (child.exitCode === null && child.kill("SIGKILL")) await once(child, "exit");
    });
    let printed = "";
    child.stderr.setEncoding("utf8").on("data", (piece: string) => {
      printed += piece;
    });
    return () => printed;
  }

  test("O-22 a function or coroutine that runs too long ends as TIMEOUT, frees its slot, and its late result is dropped", async () => {
    const printed = startWorker(`
import asyncio, os, time
from writ import Worker
worker = Worker(worker_id="slow", slots=1, stop_grace_sec=0.5)

def wait_for(path):
    while not os.path.exists(path): time.sleep(0.02)

@worker.handle("obeys")
def obeys(params, job):
    job.cancelled.wait()
    return "late"

@worker.handle("ignores")
def ignores(params, job):
    wait_for("go")
    return "late"

@worker.handle("coroutine")
async def coroutine(params, job):
    await asyncio.sleep(3600)

@worker.handle("quick")
async def quick(params, job):
    await asyncio.sleep(0)
    return "in time"
worker.run()`);
    const late = { status: "failed", fail_code: "TIMEOUT", result: null };
    for (const type of ["obeys", "coroutine", "ignores"]) {
      const { id } = await writ.submit({ type, timeout_sec: 1, max_attempts: 1 });
      const job = await writ.wait(id);
      expect([type, job]).toEqual([type, expect.objectContaining(late)]);
      expect(job.fail_history.at(-1)!.reason).toBe("ran longer than 1 s");
    }
    // The only slot is free again, although a handler still runs; and what that returns changes nothing.
    const { id } = await writ.submit({ type: "quick" });
    expect(await writ.wait(id)).toMatchObject({ status: "completed", result: "in time" });
    writeFileSync(join(dir, "go"), "");
    await expect
      .poll(printed, { timeout: 60_000 })
      .toMatch(/after its time was over; what it returned is dropped/);
    expect(printed()).toMatch(/warning: the handler of ignores did not stop when it was told to/);
  });

  test("O-22 a hub is found by its home, whose token goes to no other hub", async () => {
    const code = `
from writ import Writ, WritError
try: print(Writ(HOME).submit("any", url=None))
except WritError as error: print(error)`;
    const at = (argument: string) => code.replace("HOME", argument).replace(", url=None", "");
    expect(await python(at(`home=${JSON.stringify(hub.home)}`), { HOME: dir })).toMatch(/^[0-9a-f-]{36}$/);
    expect(await python(at(""), { HOME: dir, WRIT_HOME: hub.home })).toMatch(/^[0-9a-f-]{36}$/);
    expect(await python(at(""), { HOME: dir, WRIT_HOME: dir })).toMatch(
      /^HUB_UNREACHABLE: no hub is running in /,
    );
    const other = { HOME: dir, WRIT_HOME: hub.home, WRIT_HUB_URL: "http://127.0.0.1:1" };
    expect(await python(at(""), other)).toMatch(/^CONFIG_INVALID: no token/);
    const token = join(hub.home, "admin.token");
    chmodSync(token, 0o644);
    onTestFinished(() => chmodSync(token, 0o600));
    expect(await python(at(""), { HOME: dir, WRIT_HOME: hub.home })).toMatch(
      /^CONFIG_INVALID: other users can access/,
    );
  });

  test("O-22 both forms of the client wait for many jobs, and say what a cancel did", async () => {
    startWorker(`
from writ import Worker
worker = Worker(worker_id="doubler", slots=2)

@worker.handle("double")
def double(params, job): return 2 * params

@worker.handle("endless")
def endless(params, job): job.cancelled.wait()
worker.run()`);
    const plain = await python(`
from writ import TimedOut, Writ, WritError
hub = Writ()
ids = hub.submit_many({"type": "double", "params": n} for n in range(20))
print([job["result"] for job in hub.wait_all(ids, 60)] == [2 * n for n in range(20)])
waiting = hub.submit("nobody")
try: hub.wait_all([ids[0], waiting], 0.2)
except TimedOut as error: print(error.message[:26])
running = hub.submit("endless", max_attempts=1)
while hub.get(running)["status"] != "running": pass
print(hub.cancel(waiting), hub.cancel(running))
try: hub.cancel(waiting)
except WritError as error: print(error.code)`);
    expect(plain.split("\n")).toEqual(["True", "only 1 of 2 jobs were seen", "over asked", "STATE_CONFLICT"]);
    const awaited = await python(`
import asyncio
from writ import AsyncWrit, TimedOut
async def main():
    async with AsyncWrit() as hub:
        ids = await hub.submit_many({"type": "double", "params": n} for n in range(20))
        print([job["result"] for job in await hub.wait_all(ids, 60)] == [2 * n for n in range(20)])
        waiting = await hub.submit("nobody")
        try: await hub.wait_all([ids[0], waiting], 0.2)
        except TimedOut: print("timed out")
        print(await hub.cancel(waiting), await hub.result(ids[3]))
asyncio.run(main())`);
    expect(awaited.split("\n")).toEqual(["True", "timed out", "over 6"]);
  });
});
