import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JobView, WorkerView } from "../../src/contract/shapes/view-shapes.ts";
import { createHttpClient } from "../../src/runtime/http/http-client.ts";
import { warningLogger } from "../../src/runtime/log/logger.ts";
import { createHubCalls, type Registration } from "../../src/worker/hub/hub-calls.ts";
import { registerWithHub } from "../../src/worker/hub/register-with-hub.ts";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import { WorkerProcess } from "../support/worker-process.ts";
import { findLastVersion, lastVersionObstacle, today, type Version } from "./last-version.ts";

const obstacle = lastVersionObstacle();
const pairs = [
  { name: "a hub of today, with a worker and a client of the last version", isNewHub: true },
  { name: "a hub of the last version, with a worker and a client of today", isNewHub: false },
];

let last: Version;
beforeAll(async () => {
  if (obstacle === null) last = await findLastVersion();
});

const tell = (name: string): string => (obstacle === null ? name : `${name} (not capable: ${obstacle})`);
const testBoth = (name: string, run: () => Promise<void>): void => {
  test.skipIf(obstacle !== null)(tell(name), run);
};

describe.each(pairs)("$name", ({ isNewHub }) => {
  let hub: HubProcess;
  let worker: WorkerProcess;
  let functions: ChildProcess;
  let theirs: Version;

  beforeAll(async () => {
    if (obstacle !== null) return;
    const ours = isNewHub ? today : last;
    theirs = isNewHub ? last : today;
    hub = new HubProcess({ ...ours.env, WRIT_BACKOFF_SCALE: "0" }, ours.program("writ"));
    await hub.start();
    worker = new WorkerProcess(hub, "commands", theirs.env, theirs.program("writ"));
    await worker.enrol();
    worker.start();
    const env = {
      ...theirs.env,
      HUB_URL: hub.url,
      WRIT_TOKEN: hub.token,
      DATA_DIR: join(worker.home, "functions"),
    };
    const script = join(import.meta.dirname, "double-worker.mjs");
    functions = spawn(process.execPath, [script, theirs.worker], {
      env,
      stdio: ["ignore", "ignore", "inherit"],
    });
  });
  afterAll(async () => {
    if (functions?.exitCode === null && functions.kill("SIGTERM")) await once(functions, "exit");
    await worker?.remove();
    await hub?.remove();
  });

  async function get<T>(path: string): Promise<T> {
    const headers = { authorization: `Bearer ${hub.token}` };
    return (await (await fetch(`${hub.url}/api/v1${path}`, { headers })).json()) as T;
  }

  async function jobctl(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const words = ["--home", hub.home, ...args];
    return promisify(execFile)(theirs.program("jobctl"), words, { env: theirs.env }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
  }

  testBoth("the worker is registered with all that it can run", async () => {
    const registered = await eventually("both workers register", async () => {
      const workers = await get<WorkerView[]>("/workers");
      return workers.length === 2 && workers.find(({ id }) => id === "commands");
    });
    expect(registered.kinds).toContain("exec");
    expect(registered.isolation).not.toBeNull();
  });

  testBoth("a command runs, with its output and its exit code", async () => {
    const { code, stdout, stderr } = await jobctl("run", "sh", "-c", "echo out; echo err >&2; exit 3");
    expect([code, stdout, stderr]).toEqual([3, "out\n", "err\n"]);
  });

  testBoth("output that is too large for a report arrives whole", async () => {
    const { code, stdout } = await jobctl("run", "seq", "1", "20000");
    expect([code, stdout.length, stdout.endsWith("\n20000\n")]).toEqual([0, 108_894, true]);
  });

  testBoth("a function runs, and its receipt verifies", async () => {
    const job = { type: "double", run: { kind: "handler", params: { number: 21 } } };
    const headers = { authorization: `Bearer ${hub.token}`, "content-type": "application/json" };
    const answer = await fetch(`${hub.url}/api/v1/jobs`, {
      method: "POST",
      headers,
      body: JSON.stringify(job),
    });
    const { id } = (await answer.json()) as { id: string };
    const ended = await eventually("the function has ended", async () => {
      const view = await get<JobView>(`/jobs/${id}`);
      return view.completed_at !== null && view;
    });
    expect(ended).toMatchObject({ status: "completed", result: 42 });
    expect(await jobctl("verify", id)).toMatchObject({ code: 0 });
  });

  testBoth("a running command is stopped", async () => {
    const id = (await jobctl("start", "sleep", "600")).stdout.trim();
    await eventually("it runs", async () => (await get<JobView>(`/jobs/${id}`)).status === "running");
    expect(await jobctl("stop", id)).toMatchObject({ code: 0 });
    expect(await get<JobView>(`/jobs/${id}`)).toMatchObject({ status: "failed", fail_code: "CANCELLED" });
  });

  testBoth("a worker that knows more than the hub is registered with what the hub knows", async () => {
    const client = createHttpClient({ baseUrls: [hub.url], token: hub.token });
    const said: string[] = [];
    const logger = warningLogger((sentence) => said.push(sentence));
    const calls = createHubCalls(client, { workerId: "newer", bootId: "boot", timeoutMs: 60_000 });
    const known = { worker_id: "newer", cores: 2, ram_gb: 1, tags: ["mine"] };
    const registration = {
      ...known,
      colour: { of: "its case" },
      capabilities_of_2027: ["x"],
    } as Registration;
    await registerWithHub({ calls, logger }, registration, AbortSignal.timeout(60_000));
    client.close();
    const workers = await get<WorkerView[]>("/workers");
    expect(workers.find(({ id }) => id === "newer")).toMatchObject({ cores: 2, tags: ["mine"] });
    expect(said).toEqual([]);
  });

  testBoth("the worker leaves in order", async () => {
    expect(await worker.stop()).toBe(0);
    const workers = await get<WorkerView[]>("/workers");
    expect(workers.map(({ id }) => id)).not.toContain("commands");
  });
});
