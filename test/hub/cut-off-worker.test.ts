import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cable, startCable } from "../support/cable.ts";
import { eventually } from "../support/eventually.ts";
import { freshName, jobReader, submitJob } from "../support/jobs.ts";
import { removeHome } from "../support/remove-home.ts";
import { hubForAll } from "../support/use-hub.ts";
import { startTestWorker, type TestWorker } from "../support/worker.ts";

/** The hub lives and only the worker is cut off, so its leases run out and the hub gives its jobs away. */
const hub = hubForAll({
  // Its sixth part is the margin of a job that must not overlap: longer than a busy machine takes to kill a process.
  WRIT_LEASE_MS: "6000",
  WRIT_REAPER_INTERVAL_MS: "100",
  WRIT_WORKER_INACTIVE_MS: "86400000",
  WRIT_BACKOFF_SCALE: "0",
});
const view = jobReader(hub);
const type = freshName("cut");
let marks: string;
let cable: Cable;
let worker: TestWorker;

beforeAll(async () => {
  marks = mkdtempSync(join(tmpdir(), "writ-marks-"));
  cable = await startCable(hub.port);
  worker = await startTestWorker(hub, { url: cable.url, types: [type] });
});
afterAll(async () => {
  cable.mend();
  await worker.stop();
  await cable.stop();
  removeHome(marks);
});

/** Its first attempt sleeps, and every later one ends at once. Returns the process of the first. */
async function startSleeper(job: Record<string, unknown>): Promise<{ id: string; pid: number }> {
  const mark = join(marks, freshName("pid"));
  const script = `[ $JOB_ATTEMPT -gt 1 ] || { echo $$ > ${mark}.new; mv ${mark}.new ${mark}; exec sleep 300; }`;
  const run = { kind: "exec", argv: ["sh", "-c", script] };
  const { id } = await submitJob(hub, { type, run, ...job });
  await eventually("its process runs", () => existsSync(mark));
  return { id, pid: Number(readFileSync(mark, "utf8")) };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Cuts the worker off until the hub has given up the attempt. */
async function cutOff(id: string): Promise<void> {
  cable.cut();
  await eventually("the hub gives the attempt up", async () => (await view(id)).fail_history.length === 1);
}

test("B2: a job continues while its worker is cut off, and ends when the worker learns that it has lost the job", async () => {
  const { id, pid } = await startSleeper({});
  await cutOff(id);
  expect(isAlive(pid)).toBe(true);
  cable.mend();
  await eventually("the next attempt completes", async () => (await view(id)).status === "completed");
  await eventually("the process of the first attempt ends", () => !isAlive(pid));
  expect(await view(id)).toMatchObject({ attempt: 2, fail_history: [{ code: "WORKER_DISCONNECTED" }] });
});

test("B2: a job with on_disconnect stop is dead before the hub gives it to another worker", async () => {
  const { id, pid } = await startSleeper({ on_disconnect: "stop" });
  await cutOff(id);
  expect(isAlive(pid)).toBe(false);
  cable.mend();
  await eventually("the next attempt completes", async () => (await view(id)).status === "completed");
});
