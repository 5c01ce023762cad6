import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import type { WorkerProcess } from "../support/worker-process.ts";
import { agentWorkers } from "./agent-worker.ts";
import { makeRepo, model } from "./delegate-stage.ts";

/** A session is a worker that names it. The hub and the workers are processes, so that one of them can be killed. */
const hub = new HubProcess({
  WRIT_BACKOFF_SCALE: "0",
  WRIT_LEASE_MS: "5000",
  WRIT_REAPER_INTERVAL_MS: "200",
  WRIT_LOG_LEVEL: "warn",
});
let writ: Writ;
let dir: string;

beforeAll(async () => {
  await hub.start();
  writ = new Writ({ url: hub.url, token: hub.token });
  dir = mkdtempSync("/var/tmp/writ-sessions-");
});
afterAll(async () => {
  writ.close();
  await hub.remove();
  rmSync(dir, { recursive: true, force: true });
});

const startWorker = agentWorkers(hub);

function startSession(id: string, session: string, script: string): Promise<WorkerProcess> {
  return startWorker(id, { agent: { command: ["sh", "-c", script], session } });
}

test("a job goes to the worker of its session, and comes back to that session when the worker is killed", async () => {
  const repo = makeRepo(join(dir, "repo"));
  const first = await startSession("first", "tmux:one", "echo begun; sleep 600");
  await startSession("other", "tmux:two", "echo wrong");
  const { id } = await writ.submit({
    type: "delegate",
    run: { kind: "delegate", agent: "default", prompt: "p", idle_timeout_sec: 0 },
    ...model,
    repo_root: repo,
    allowed_paths: [],
    max_attempts: 20,
    requires: { session: "tmux:one" },
  });
  await eventually("the agent has begun", async () => (await writ.get(id)).output.stdout > 0);
  expect(await writ.get(id)).toMatchObject({ worker_id: "first" });

  await first.stop("SIGKILL");
  await eventually("the lease has ended", async () => (await writ.get(id)).status === "pending");
  expect((await writ.get(id)).fail_history!.at(-1)).toMatchObject({
    code: "WORKER_DISCONNECTED",
    worker_id: "first",
  });
  // The other session is free, and is not given the job.
  const why = await writ.why(id);
  expect(JSON.stringify(why)).toContain("tmux:one");

  await startSession("second", "tmux:one", "echo again");
  await eventually("the job ends", async () => (await writ.get(id)).status === "completed");
  expect(await writ.get(id)).toMatchObject({ worker_id: "second", result: { changed: [] } });
});
