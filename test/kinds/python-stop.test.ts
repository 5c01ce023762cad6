import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { readBlock } from "../docs/page.ts";
import { startCable } from "../support/cable.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { hasPython, pythonEnv, pythonNote } from "../support/python.ts";
import { activeKey } from "../support/worker.ts";

const isAway = /^writ: the hub cannot be reached; trying again until it is back \(.*\)\n/;

/** The worker of the page, and others, while their hub is away or refuses them. */
describe.runIf(hasPython)(`a Python worker and its hub${pythonNote}`, () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-python-stop-"));
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

  function codeOf(name: string): string {
    return /```\w+\n([\s\S]*?)```/.exec(readBlock("docs/other-languages.md", name))![1]!;
  }

  /** Starts a program; `printed` is what it has written to standard error so far. */
  function start(code: string, env: Record<string, string> = {}) {
    const child = spawn("python3", ["-u", "-c", code], {
      cwd: dir,
      stdio: ["ignore", "ignore", "pipe"],
      env: pythonEnv({
        HOME: dir,
        WRIT_HUB_URL: hub.url,
        WRIT_TOKEN: hub.admin,
        WRIT_SIGNING_KEYS_FILE: join(dir, "keys.pem"),
        ...env,
      }),
    });
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    const closed = once(child, "close");
    onTestFinished(() => void (child.exitCode === null && child.kill("SIGKILL")));
    return {
      child,
      printed: () => text,
      /** Its exit code, or the signal that killed it, and all that it has printed. */
      end: async () => {
        await closed;
        return { code: child.exitCode ?? child.signalCode, printed: text };
      },
    };
  }

  test("what the hub refuses is one line, also when the program works and submits", async () => {
    const refused = /^writ: (worker snake-\d has ended: )?UNAUTHENTICATED: the token is not valid.*\n/;
    for (const name of ["python worker", "python"]) {
      const { code, printed } = await start(codeOf(name), { WRIT_TOKEN: "sk_worker_x" }).end();
      expect([name, code, printed]).toEqual([name, 1, expect.stringMatching(refused)]);
      expect(printed).not.toContain("Traceback");
    }
  });

  test.each(["SIGINT", "SIGTERM"] as const)(
    "a worker that starts without its hub says so, and %s ends it in order",
    async (signal) => {
      const worker = start(codeOf("python worker"), { WRIT_HUB_URL: "http://127.0.0.1:1" });
      await eventually("it says so", () => isAway.test(worker.printed()));
      worker.child.kill(signal);
      const { code, printed } = await worker.end();
      expect([code, printed.replace(isAway, "")]).toEqual([0, ""]);
    },
  );

  test("a worker whose hub accepts connections and answers nothing can be stopped too", async () => {
    const cable = await startCable(hub.port);
    onTestFinished(() => cable.stop());
    cable.freeze();
    const worker = start(codeOf("python worker"), { WRIT_HUB_URL: cable.url });
    await eventually("it says so", () => worker.printed() !== "");
    worker.child.kill("SIGTERM");
    expect(await worker.end()).toEqual({
      code: 0,
      printed: "writ: the hub has not answered yet; still trying\n",
    });
  });

  test("stop may be called in any thread while the hub is away", async () => {
    const code = `
import sys, threading
from writ import Worker
worker = Worker("http://127.0.0.1:1", worker_id="stopped", log=lambda line: worker.stop())
worker.handle("none")(print)
worker.run()
with worker: pass
sys.stderr.write("stopped")`;
    expect(await start(code).end()).toEqual({ code: 0, printed: "stopped" });
  });

  test("a worker that was there before its hub works when the hub is there", async () => {
    const cable = await startCable(hub.port);
    onTestFinished(() => cable.stop());
    cable.cut();
    const worker = start(codeOf("python worker"), { WRIT_HUB_URL: cable.url });
    await eventually("it says so", () => isAway.test(worker.printed()));
    const { id } = await writ.submit({ type: "double", params: { n: 21 } });
    cable.mend();
    await eventually("the job has ended", async () => (await writ.get(id)).completed_at !== null);
    expect(await writ.get(id)).toMatchObject({ status: "completed", result: { twice: 42 } });
    await eventually("it says so", () => /\nwrit: the hub is back after \d+ \w+\n/.test(worker.printed()));
    worker.child.kill("SIGTERM");
    expect((await worker.end()).code).toBe(0);
    expect((await writ.workers()).map((each) => each.id)).not.toContain("snake-1");
  });

  test("a worker whose slots are all busy says that the hub is away, and that it is back", async () => {
    const cable = await startCable(hub.port);
    onTestFinished(() => cable.stop());
    const worker = start(
      `
from writ import Worker
worker = Worker(worker_id="busy", slots=1, drain_sec=0)
@worker.handle("py.busy")
def busy(params, job):
    job.cancelled.wait()
worker.run()`,
      { WRIT_HUB_URL: cable.url },
    );
    const { id } = await writ.submit({ type: "py.busy" });
    await eventually("it works", async () => (await writ.get(id)).status === "running");
    cable.cut();
    await eventually("it says so", () => isAway.test(worker.printed()));
    cable.mend();
    await eventually("it says so", () => /\nwrit: the hub is back after \d+ \w+\n/.test(worker.printed()));
    worker.child.kill("SIGTERM");
    expect((await worker.end()).code).toBe(0);
  });

  test("a second signal takes away the time of what runs, which is given back", async () => {
    const worker = start(`
from writ import Worker
worker = Worker(worker_id="hurried", drain_sec=3600)
@worker.handle("py.long")
def long(params, job):
    job.cancelled.wait()
worker.run()`);
    const { id } = await writ.submit({ type: "py.long" });
    await eventually("it runs", async () => (await writ.get(id)).status === "running");
    worker.child.kill("SIGTERM");
    worker.child.kill("SIGINT");
    expect(await worker.end()).toEqual({ code: 0, printed: "" });
    expect(await writ.get(id)).toMatchObject({ status: "pending" });
    await writ.cancel(id);
  });

  test("signals that another thread takes stop the worker too", async () => {
    const worker = start(`
import signal, threading
from writ import Worker
worker = Worker(worker_id="aside", drain_sec=3600)
@worker.handle("py.aside")
def aside(params, job):
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    job.cancelled.wait()
worker.run()`);
    const { id } = await writ.submit({ type: "py.aside" });
    expect(await worker.end()).toEqual({ code: 0, printed: "" });
    expect(await writ.get(id)).toMatchObject({ status: "pending" });
    await writ.cancel(id);
  });

  test("a worker that the hub has forgotten registers again from all its slots, and loses none", async () => {
    const slots = 64;
    const worker = start(`
from writ import Worker
worker = Worker(worker_id="many", slots=${slots})
@worker.handle("py.many")
def many(params, job):
    return params["n"]
worker.run()`);
    const isThere = async () => (await writ.workers()).some(({ id }) => id === "many");
    for (let round = 0; round < 3; round++) {
      await eventually("it is there", isThere);
      await writ.fleet.removeWorker("many");
      const jobs = await writ.submitBatch(
        Array.from({ length: slots }, (_, n) => ({ type: "py.many", params: { n } })),
      );
      const ended = await Promise.all(jobs.map(({ id }) => writ.wait(id)));
      expect(ended.map(({ status }) => status)).toEqual(Array(slots).fill("completed"));
    }
    worker.child.kill("SIGTERM");
    const { code, printed } = await worker.end();
    expect([code, printed.includes("Traceback")]).toEqual([0, false]);
  });
});
