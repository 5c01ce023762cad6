import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { readEvents } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import { freshName } from "../support/jobs.ts";
import { agentWorkers } from "./agent-worker.ts";
import { contentOf, makeRepo, model } from "./delegate-stage.ts";

/** An attempt that does not count must not leave half of its work in somebody's repository. */
const hub = new HubProcess({
  WRIT_BACKOFF_SCALE: "0",
  WRIT_LEASE_MS: "5000",
  WRIT_REAPER_INTERVAL_MS: "200",
  WRIT_LOG_LEVEL: "warn",
});
const startWorker = agentWorkers(hub);
let writ: Writ;
let dir: string;

beforeAll(async () => {
  await hub.start();
  writ = new Writ({ url: hub.url, token: hub.token });
  dir = mkdtempSync("/var/tmp/writ-undo-");
});
afterAll(async () => {
  writ.close();
  await hub.remove();
  rmSync(dir, { recursive: true, force: true });
});

const halfDone = `
  echo half >> src/main.txt; rm -r src/lib; mkdir -p src/fresh/deep; echo x > src/fresh/deep/x
  echo begun; sleep 600`;

/** A job that works in place and is in the middle of it. */
async function begin(
  session: string,
  more: object = {},
): Promise<{ id: string; repo: string; before: object }> {
  const repo = makeRepo(join(dir, freshName("repo")));
  const before = contentOf(repo);
  const { id } = await writ.submit({
    type: "delegate",
    run: { kind: "delegate", agent: "default", prompt: "p", idle_timeout_sec: 0, mode: "in-place" },
    ...model,
    repo_root: repo,
    allowed_paths: ["src"],
    max_attempts: 20,
    requires: { session },
    ...more,
  });
  await eventually("the agent has begun", async () => (await writ.get(id)).output.stdout > 0);
  expect(contentOf(repo)).not.toEqual(before);
  return { id, repo, before };
}

function agentOf(session: string, script = halfDone) {
  return { command: ["sh", "-c", script], session };
}

test("a worker that is told to stop puts back what its agent did in place, and names what it had no copy of", async () => {
  const execution = { max_file_size_bytes: 10 };
  const env = { WRIT_DRAIN_MS: "0", WRIT_STOP_GRACE_MS: "100" };
  const worker = await startWorker("drained", { agent: agentOf("drained"), execution, env });
  const { id, repo, before } = await begin("drained");
  expect(await worker.stop()).toBe(0);
  const released = readEvents(hub.home).filter((it) => it.job_id === id && it.event === "JOB_RELEASED");
  expect(released.map(({ details }) => details["reason"])).toEqual([
    "the worker is stopping; these files are still changed: src/main.txt",
  ]);
  expect(contentOf(repo)).toEqual({ ...before, "src/main.txt": "one\ntwo\nthree\nhalf\n" });
  await writ.cancel(id);
});

test("a worker that is told to stop while the work is checked puts it back too", async () => {
  const script = "echo done >> src/main.txt; echo begun";
  const check = `sleep 60${process.pid}`;
  const agent = { ...agentOf("checked", script), validate: ["sh", "-c", `${check}; true`] };
  const env = { WRIT_DRAIN_MS: "0", WRIT_STOP_GRACE_MS: "100" };
  const worker = await startWorker("checked", { agent, env });
  const { id, repo, before } = await begin("checked");
  await eventually("the check runs", () => isRunning(check));
  expect(await worker.stop()).toBe(0);
  expect(contentOf(repo)).toEqual(before);
  await writ.cancel(id);
});

test("a worker that cannot reach its hub puts back what its agent did in place before the lease ends", async () => {
  await startWorker("lonely", { agent: agentOf("lonely") });
  const { id, repo, before } = await begin("lonely");
  await hub.kill("SIGKILL");
  await eventually("the repository is as it was", async () => isSame(contentOf(repo), before));
  await hub.start();
  await writ.cancel(id);
});

test("a worker that was killed puts back at its next start what its agent did in place", async () => {
  const worker = await startWorker("killed", { agent: agentOf("killed") });
  const { id, repo, before } = await begin("killed");
  await worker.stop("SIGKILL");
  expect(contentOf(repo)).not.toEqual(before);
  await writ.cancel(id);
  worker.start();
  await eventually("the repository is as it was", async () => isSame(contentOf(repo), before));
  await eventually("the job is over", async () => (await writ.get(id)).completed_at !== null);
});

test("what a completed job did in place stays when its worker is killed and started again", async () => {
  const script = "echo done >> src/main.txt; echo begun; sleep 0.2";
  const worker = await startWorker("diligent", { agent: agentOf("diligent", script) });
  const { id, repo } = await begin("diligent");
  await eventually("the job is over", async () => (await writ.get(id)).status === "completed");
  await worker.stop("SIGKILL");
  worker.start();
  await eventually("the worker is back", async () =>
    (await writ.workers()).some(({ id: name, status }) => name === "diligent" && status === "active"),
  );
  expect(readFileSync(join(repo, "src/main.txt"), "utf8")).toBe("one\ntwo\nthree\ndone\n");
});

/** Whether a process with exactly this command line runs on this machine. */
function isRunning(command: string): boolean {
  const words = `${command.replaceAll(" ", "\0")}\0`;
  return readdirSync("/proc").some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8") === words;
    } catch {
      return false;
    }
  });
}

function isSame(found: object, expected: object): boolean {
  const inOrder = (content: object) => JSON.stringify(Object.entries(content).sort());
  return inOrder(found) === inOrder(expected);
}
