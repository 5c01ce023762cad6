import { rmSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { claimedJob, type HeldJob, registerWorker, runningJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";

let hub: TestHub;
let seen: string[] = [];
let failure: Error | undefined;

const failpoint = (name: string): void => {
  seen.push(name);
  if (failure !== undefined && name === "log.sync") throw failure;
};
/** What matters about the order: the bytes first, then the ending. */
const steps = () => seen.filter((name) => name === "log.sync" || name.startsWith("result."));

beforeAll(async () => {
  hub = await startTestHub(stillEnv, { failpoint });
});
afterAll(() => hub.stop());
beforeEach(() => {
  seen = [];
  failure = undefined;
});

describe("before an ending is answered, the output of its attempt is on the disk", () => {
  test("or the ending is refused for now, and only that one", async () => {
    const workerId = await registerWorker(hub);
    const spoken = await saying("a word", workerId);
    const silent = await claimedJob(hub, { workerId });
    failure = Object.assign(new Error("the disk is broken"), { code: "EIO" });
    expect(await end(spoken)).toMatchObject({ status: 503, code: "OUTPUT_UNAVAILABLE" });
    expect(await batch(workerId, [spoken, silent])).toEqual([
      { job_id: spoken.id, error: expect.objectContaining({ code: "OUTPUT_UNAVAILABLE" }) },
      expect.objectContaining({ job_id: silent.id, status: "completed" }),
    ]);
    expect((await viewOf(spoken)).status).toBe("running");
    failure = undefined;
    expect((await end(spoken)).status).toBe(200);
    expect((await viewOf(spoken)).status).toBe("completed");
  });

  test("for a result, a failure and a batch", async () => {
    const workerId = await registerWorker(hub);
    const done = await saying("done", workerId);
    seen = [];
    await end(done);
    expect(steps()).toEqual(["log.sync", "result.beforeCommit", "result.afterCommit"]);

    const failed = await saying("failed", workerId);
    seen = [];
    const body = { ...failed.fence, reason: "as the test wishes" };
    await hub.must("POST", `/jobs/${failed.id}/fail`, { token: hub.admin, body });
    expect(steps()).toEqual(["log.sync", "result.beforeCommit", "result.afterCommit"]);

    const two = [await saying("one", workerId), await saying("two", workerId)];
    seen = [];
    await batch(workerId, two);
    expect(steps()).toEqual(["log.sync", "log.sync", "result.beforeCommit", "result.afterCommit"]);
  });

  test("and one that has said nothing waits for no disk", async () => {
    const job = await runningJob(hub);
    seen = [];
    await end(job);
    expect(seen.filter((name) => name.startsWith("log."))).toEqual([]);
  });

  test("the output is on the disk even if an earlier hub has written it", async () => {
    const job = await saying("long ago", await registerWorker(hub));
    const { home } = hub;
    await hub.stop({ keepHome: true });
    hub = await startTestHub(stillEnv, { home, failpoint });
    seen = [];
    expect((await end(job)).status).toBe(200);
    expect(steps()).toEqual(["log.sync", "result.beforeCommit", "result.afterCommit"]);
    afterAll(() => rmSync(home, { recursive: true, force: true }));
  });
});

async function saying(text: string, workerId: string): Promise<HeldJob> {
  const job = await runningJob(hub, { workerId });
  const answer = await appendOutput(hub, job, { bytes: Buffer.from(text) });
  expect(answer.status, answer.text).toBe(200);
  return job;
}

function end(job: HeldJob) {
  return hub.call("POST", `/jobs/${job.id}/result`, { token: hub.admin, body: { ...job.fence, result: 1 } });
}

async function batch(workerId: string, jobs: HeldJob[]): Promise<unknown[]> {
  const items = jobs.map(({ id, fence: { attempt, token } }) => ({ job_id: id, attempt, token, result: 1 }));
  const body = { worker_id: workerId, items };
  const answer = await hub.must("POST", "/jobs/results", { token: hub.admin, body });
  return answer.json<{ items: unknown[] }>().items;
}

async function viewOf(job: HeldJob): Promise<JobView> {
  return (await hub.must("GET", `/jobs/${job.id}`, { token: hub.admin })).json<JobView>();
}
