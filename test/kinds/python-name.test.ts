import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { hasPython, pythonEnv, pythonNote } from "../support/python.ts";
import { activeKey } from "../support/worker.ts";

/** Handles one type, and a type that lasts until the file named in its params is there. */
const program = `
import os, sys, time
from writ import Worker, WritError
name, type, folder = sys.argv[1:]
worker = Worker(worker_id=name, state_dir=folder or None)

@worker.handle(type)
def work(params, job):
    while params and not os.path.exists(params["until"]):
        if job.cancelled.wait(0.02):
            return "cancelled"
    return type

try:
    worker.run()
except WritError as error:
    sys.exit(f"ended: {error}")`;

describe.runIf(hasPython)(`two Python processes with one worker id${pythonNote}`, () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-python-name-"));
  let hub: TestHub;
  let writ: Writ;

  beforeAll(async () => {
    hub = await startTestHub();
    writ = new Writ({ url: hub.url, token: hub.admin });
    writeFileSync(join(dir, "keys.pem"), activeKey(hub).publicKeyPem);
  });
  afterAll(async () => {
    writ?.close();
    await hub?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  function start(name: string, type: string, folder = "") {
    const child = spawn("python3", ["-u", "-c", program, name, type, folder], {
      cwd: dir,
      stdio: ["ignore", "ignore", "pipe"],
      env: pythonEnv({
        HOME: dir,
        WRIT_HUB_URL: hub.url,
        WRIT_TOKEN: hub.admin,
        WRIT_SIGNING_KEYS_FILE: join(dir, "keys.pem"),
      }),
    });
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    const closed = once(child, "close");
    onTestFinished(() => void (child.exitCode === null && child.kill("SIGKILL")));
    return { child, printed: () => text, closed };
  }

  const submit = async (type: string, params?: object) => (await writ.submit({ type, params })).id;
  const statusOf = async (id: string) => (await writ.get(id)).status;
  const isRunning = (id: string) => eventually("it runs", async () => (await statusOf(id)) === "running");
  const end = async ({ child, closed }: { child: ChildProcess; closed: Promise<unknown> }) => {
    child.kill("SIGTERM");
    await closed;
  };

  test("the second says what to do, waits, and works when the first has ended", async () => {
    const [a, b] = ["py.name.a", "py.name.b"];
    const first = start("twin", a);
    const jobs = await writ.submitBatch(
      Array.from({ length: 100 }, (_, n) => ({ type: n % 2 ? a : b, max_attempts: 1 })),
    );
    await eventually("the first works", async () => (await statusOf(jobs[1]!.id)) === "completed");
    const second = start("twin", b);
    await eventually("the second waits", () => second.printed() !== "");
    expect(second.printed()).toMatch(
      new RegExp(
        `^writ: process ${first.child.pid} works as twin on this machine; waiting up to 60 s for it to end; give this worker a worker_id of its own, or stop that process`,
      ),
    );
    // No process would be left to handle its jobs.
    await Promise.all(jobs.filter((_, n) => n % 2 === 1).map(({ id }) => writ.wait(id)));
    await end(first);
    const ended = await Promise.all(jobs.map(({ id }) => writ.wait(id)));
    expect(ended.map(({ status, attempts }) => [status, attempts])).toEqual(jobs.map(() => ["completed", 1]));
    await end(second);
    expect(second.child.exitCode).toBe(0);
  });

  test("a worker that was killed works again at once", async () => {
    const until = join(dir, "killed");
    const first = start("killed", "py.name.killed");
    await isRunning(await submit("py.name.killed", { until }));
    first.child.kill("SIGKILL");
    await first.closed;
    const second = start("killed", "py.name.killed");
    expect(await writ.wait(await submit("py.name.killed"))).toMatchObject({ status: "completed" });
    expect(second.printed()).toBe("");
  });

  test("a folder that was copied gives the name to the last, and the stop of one leaves the jobs of the other", async () => {
    const [a, b] = ["py.name.copied", "py.name.copy"];
    const first = start("copied", a, join(dir, "copied"));
    const held = await submit(a, { until: join(dir, "go-a") });
    await isRunning(held);
    cpSync(join(dir, "copied", "worker.key"), join(dir, "copy", "worker.key"), { recursive: true });
    start("copied", b, join(dir, "copy"));
    const other = await submit(b, { until: join(dir, "go-b") });
    await isRunning(other);
    writeFileSync(join(dir, "go-a"), "");
    await first.closed;
    expect(first.printed()).toContain(
      "ended: WORKER_REPLACED: another process has registered as worker copied",
    );
    expect(await writ.get(held)).toMatchObject({ status: "completed", attempts: 1 });
    expect(await statusOf(other)).toBe("running");
    writeFileSync(join(dir, "go-b"), "");
    expect(await writ.wait(other)).toMatchObject({ status: "completed", attempts: 1 });
  });
});
