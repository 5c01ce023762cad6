import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { hasPython, pythonEnv, pythonNote } from "../support/python.ts";
import { activeKey } from "../support/worker.ts";

const execute = promisify(execFile);
const hourMs = 3_600_000;

describe.runIf(hasPython)(`what the Python package waits for${pythonNote}`, () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-python-waits-"));
  let hub: TestHub;
  let writ: Writ;

  beforeAll(async () => {
    hub = await startTestHub({ WRIT_LEASE_MS: String(hourMs) });
    writ = new Writ({ url: hub.url, token: hub.admin });
    writeFileSync(join(dir, "keys.pem"), activeKey(hub).publicKeyPem);
  });
  afterAll(async () => {
    writ?.close();
    await hub?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const env = () =>
    pythonEnv({
      HOME: dir,
      WRIT_HUB_URL: hub.url,
      WRIT_TOKEN: hub.admin,
      WRIT_SIGNING_KEYS_FILE: join(dir, "keys.pem"),
    });

  async function python(code: string): Promise<string[]> {
    return (await execute("python3", ["-c", code], { env: env(), cwd: dir })).stdout.trim().split("\n");
  }

  test("a wait lasts as long as the caller has allowed, and looks once more just before its end", async () => {
    const printed = await python(`
import asyncio, writ.client, writ.looks
from writ import AsyncWrit, TimedOut, Writ

class Clock:
    now = 100.0
    def monotonic(self): return self.now
    def sleep(self, sec): self.now += sec

clock = Clock()
async def pause(sec): clock.sleep(sec)
looked = []
def call(*_, **__):
    looked.append(clock.now)
    return {"id": "j", "status": "running"}

writ.client.time = writ.looks.time = clock
asyncio.sleep = pause
def tell(error):
    print(f"{clock.now - 100:.3f} {100 + error_sec - looked[-1]:.3f} {error.message}")

for error_sec in (2, 0.5):
    hub, clock.now = Writ("http://127.0.0.1:1", "t"), 100.0
    hub._hub.call = call
    try: hub.wait("j", error_sec)
    except TimedOut as error: tell(error)
    hub, clock.now = AsyncWrit("http://127.0.0.1:1", "t"), 100.0
    hub._writ._hub.call = call
    try: asyncio.run(hub.wait("j", error_sec))
    except TimedOut as error: tell(error)`);
    expect(printed).toEqual(
      [2, 2, 0.5, 0.5].map((sec) => `${sec.toFixed(3)} 0.100 job j is still running after ${sec} s`),
    );
  });

  test("a wait for many jobs ends in time, even if all of them have ended and only the looks at them take long", async () => {
    const printed = await python(`
import asyncio, threading, writ.client, writ.looks
from writ import AsyncWrit, TimedOut, Writ

class Clock:
    now = 100.0
    def monotonic(self): return self.now

clock = writ.client.time = writ.looks.time = Clock()
def slow(*_, **__):
    clock.now += 0.4
    return {"id": "j", "status": "completed"}
hub = Writ("http://127.0.0.1:1", "t")
hub._hub.call = slow
print(len(hub.wait_all([f"j{n}" for n in range(5)], 2)))
clock.now = 100.0
try: hub.wait_all([f"j{n}" for n in range(1000)], 2)
except TimedOut as error: print(f"{clock.now - 100:.1f} {error.message}")

never = threading.Event()
async_hub = AsyncWrit("http://127.0.0.1:1", "t")
async_hub._writ._hub.call = lambda *_, **__: never.wait()
async def give_up():
    try: await async_hub.wait_all(["j", "k"], 0.1)
    except TimedOut as error: print(error.message)
    never.set()
asyncio.run(give_up())`);
    expect(printed).toEqual([
      "5",
      expect.stringMatching(/^3\.[02] only 8 of 1000 jobs were seen to end within 2 s/),
      "only 0 of 2 jobs were seen to end within 0.1 s",
    ]);
  });

  test("a wait outlasts a hub that is away for longer than a call is repeated, and ends as TimedOut", async () => {
    const printed = await python(`
import asyncio, writ.client, writ.looks
from writ import AsyncWrit, HubUnreachable, TimedOut, Writ

class Clock:
    now = 100.0
    def monotonic(self): return self.now
    def sleep(self, sec): self.now += sec

clock = Clock()
async def pause(sec): clock.sleep(sec)
writ.client.time = writ.looks.time = clock
asyncio.sleep = pause

def call(*_, deadline, **__):
    if clock.now >= back_at: return {"id": "j", "status": "completed"}
    clock.now = min(clock.now + 30, deadline or 1e9)
    raise HubUnreachable("no hub is there")

def tell(wait):
    clock.now = 100.0
    try: print(wait()["status"])
    except (TimedOut, HubUnreachable) as error: print(f"{clock.now - 100:.1f} {error}")

for back_at in (220, 1000):
    hub, async_hub = Writ("http://127.0.0.1:1", "t"), AsyncWrit("http://127.0.0.1:1", "t")
    hub._hub.call = async_hub._writ._hub.call = call
    tell(lambda: hub.wait("j", 300))
    tell(lambda: hub.wait_all(["j"], 300)[0])
    tell(lambda: asyncio.run(async_hub.wait("j", 300)))
tell(lambda: hub.wait("j"))`);
    const timedOut = "the hub did not show job j within 300 s (no hub is there)";
    expect(printed).toEqual([
      ...Array(3).fill("completed"),
      `300.0 TIMED_OUT: ${timedOut}`,
      expect.stringContaining(`(${timedOut.replace("300 s", "300.0 s")})`),
      `300.0 TIMED_OUT: ${timedOut}`,
      "30.0 HUB_UNREACHABLE: no hub is there",
    ]);
  });

  test("a worker whose claims are answered at once with nothing pauses longer and longer between them", async () => {
    const printed = await python(`
import writ.claims
from writ import Worker

class Clock:
    now = 100.0
    def monotonic(self): return self.now

clock = writ.claims.time = Clock()
writ.claims.pause_sec = lambda count: count
worker = Worker("http://127.0.0.1:1", "t", worker_id="paused")
waited_sec = [0, 0, 0, 5, 0, 0]
steps = []
def claim(*_, **__):
    steps.append("claim")
    clock.now += waited_sec.pop(0)
    if not waited_sec: worker.stop()
worker._hub.call, worker._claims._pause = claim, steps.append
# A slot that is free.
worker._claims._waiting = 1
worker._claims.run()
print(*steps)`);
    expect(printed).toEqual(["claim 0 claim 1 claim 2 claim claim 0 claim 1"]);
  });

  test("a client for asyncio that was closed says so with an error of the package", async () => {
    const printed = await python(`
import asyncio
from writ import AsyncWrit, WritError

async def main():
    async with AsyncWrit() as hub:
        id = await hub.submit("nobody")
        waiting = asyncio.ensure_future(hub.wait(id))
        await asyncio.sleep(0)
    for call in (hub.get(id), hub.submit("nobody"), hub.wait(id, 1), waiting):
        try: await call
        except WritError as error: print(error.code)
asyncio.run(main())`);
    expect(printed).toEqual(Array(4).fill("CLIENT_CLOSED"));
  });

  test("a cancel reaches a handler long before the next heartbeat", async () => {
    // A heartbeat once an hour would tell it too late for this test.
    const code = `
import writ.worker
from writ import Worker
writ.worker.beat_sec_max = 3600
worker = Worker(worker_id="told", slots=1)
@worker.handle("py.told")
def told(params, job):
    job.cancelled.wait()
    return "cancelled"
worker.run()`;
    const worker = spawn("python3", ["-u", "-c", code], { env: env(), cwd: dir, stdio: "ignore" });
    onTestFinished(async () => {
      if (worker.exitCode === null && worker.kill("SIGKILL")) await once(worker, "exit");
    });
    for (let round = 0; round < 2; round++) {
      const { id } = await writ.submit({ type: "py.told" });
      await eventually("it runs", async () => (await writ.get(id)).status === "running");
      expect(await writ.cancel(id)).toBe("asked");
      expect(await writ.wait(id)).toMatchObject({ fail_code: "CANCELLED" });
    }
  });
});
