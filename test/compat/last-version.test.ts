import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hubAbilities } from "../../src/contract/hub-abilities.ts";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import type { WorkerView } from "../../src/contract/shapes/worker-view.ts";
import { createHttpClient } from "../../src/runtime/http/http-client.ts";
import { createHubCalls } from "../../src/worker/hub/hub-calls.ts";
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

  async function submit(job: object): Promise<{ id: string }> {
    const headers = { authorization: `Bearer ${hub.token}`, "content-type": "application/json" };
    const request = { method: "POST", headers, body: JSON.stringify(job) };
    return (await (await fetch(`${hub.url}/api/v1/jobs`, request)).json()) as { id: string };
  }

  function untilEnded(id: string): Promise<JobView> {
    return eventually("the job has ended", async () => {
      const view = await get<JobView>(`/jobs/${id}`);
      return view.completed_at !== null && view;
    });
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
    const { id } = await submit({ type: "double", run: { kind: "handler", params: { number: 21 } } });
    expect(await untilEnded(id)).toMatchObject({ status: "completed", result: 42 });
    expect(await jobctl("verify", id)).toMatchObject({ code: 0 });
  });

  testBoth("a running command is stopped", async () => {
    const id = (await jobctl("start", "sleep", "600")).stdout.trim();
    await eventually("it runs", async () => (await get<JobView>(`/jobs/${id}`)).status === "running");
    expect(await jobctl("stop", id)).toMatchObject({ code: 0 });
    expect(await get<JobView>(`/jobs/${id}`)).toMatchObject({ status: "failed", fail_code: "CANCELLED" });
  });

  testBoth("a worker of today tells a hub only what that has named", async () => {
    const client = createHttpClient({ baseUrls: [hub.url], token: hub.token });
    const calls = createHubCalls(client, { workerId: "newer", bootId: "boot", timeoutMs: 60_000 });
    const agent_problems = [{ agent: "coder", why: "it is not installed" }];
    const registration = { worker_id: "newer", cores: 2, ram_gb: 1, tags: ["mine"], agent_problems };
    await calls.register(registration, AbortSignal.timeout(60_000));
    client.close();
    expect(hubAbilities.map(calls.accepts)).toEqual(hubAbilities.map(() => isNewHub));
    const registered = (await get<WorkerView[]>("/workers")).find(({ id }) => id === "newer");
    expect(registered).toMatchObject({ cores: 2, tags: ["mine"] });
    expect(registered?.agent_problems).toEqual(isNewHub ? agent_problems : undefined);
  });

  testBoth(
    "a failure that only one of them can call final is an ordinary one: the job is tried again",
    async () => {
      const job = { type: "refuse", run: { kind: "handler", params: null }, max_attempts: 2 };
      const { id } = await submit(job);
      const ended = await untilEnded(id);
      expect(ended).toMatchObject({ status: "quarantined", fail_code: "EXECUTION_ERROR", attempt: 2 });
      const reasons = ended.fail_history.map(({ reason }) => reason);
      expect(reasons).toEqual([1, 2].map(() => expect.stringContaining("it is no use to try again")));
    },
  );

  testBoth("the worker leaves in order", async () => {
    expect(await worker.stop()).toBe(0);
    const workers = await get<WorkerView[]>("/workers");
    expect(workers.map(({ id }) => id)).not.toContain("commands");
  });
});
