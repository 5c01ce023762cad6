import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { WorkerView } from "../../src/contract/shapes/worker-view.ts";
import type { WhyView } from "../../src/contract/why-view.ts";
import { stillEnv } from "../support/hub.ts";
import { claimedJob, freshName, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

async function why(id: string, token = tokens.alice): Promise<WhyView> {
  return (await hub.must("GET", `/jobs/${id}/why`, { token })).json<WhyView>();
}

describe("why a job waits", () => {
  test("B7: its tenant runs as many jobs as its quota allows", async () => {
    const workerId = await registerWorker(hub);
    await runningJob(hub, { token: tokens.alice, workerId });
    await hub.must("PUT", "/tenants/acme/quota", { token: hub.admin, body: { max_running: 1 } });
    const { id } = await submitJob(hub, { token: tokens.alice });
    const answer = await why(id);
    expect(answer).toMatchObject({ held_by: "max_running", reasons: [{ code: "max_running" }] });
    expect(answer.summary).toBe(
      "Tenant acme runs 1 job, as many as it may (max_running); wait for one to end.",
    );
    await hub.must("PUT", "/tenants/acme/quota", { token: hub.admin, body: {} });
    expect(await why(id)).toMatchObject({ held_by: null, reasons: [] });
  });

  test("B7: the only worker that fits is full", async () => {
    const tag = freshName("tag");
    const workerId = await registerWorker(hub, { tags: [tag], slots: 1 });
    await claimedJob(hub, { workerId, requires: { tags: [tag] } });
    const { id } = await submitJob(hub, { token: tokens.alice, requires: { tags: [tag] } });
    const answer = await why(id);
    expect(answer.held_by).toBe("workers_full");
    expect(answer.summary).toBe(`Worker ${workerId} is busy; it starts when a slot is free.`);
    const judged = answer.workers.find((worker) => worker.worker_id === workerId);
    expect(judged).toEqual({ worker_id: workerId, fits: false, why: ["has no free slot"] });
  });

  test("B7: the only worker that fits trusts none of the hub's keys", async () => {
    const tag = freshName("tag");
    const workerId = await registerWorker(hub, { tags: [tag], key_ids: ["0123456789abcdef"] });
    const { id } = await submitJob(hub, { token: tokens.alice, requires: { tags: [tag] } });
    const answer = await why(id);
    expect(answer.held_by).toBe("workers_unavailable");
    expect(answer.summary).toContain(`${workerId} trusts none of the hub's keys`);
  });

  test("a tenant reads what is wrong with a shared worker, but no path of its machine and no job of others", async () => {
    const tag = freshName("tag");
    const folder = `/srv/w/jobs/${randomUUID()}/2`;
    const problem = (where: string) => `SANDBOX_UNAVAILABLE: home: ENOSPC: filling ${where}`;
    const broken = { kinds: [], tags: [tag], sandbox_problem: problem(folder) };
    const workerId = await registerWorker(hub, broken);
    const { id } = await submitJob(hub, { token: tokens.alice, requires: { tags: [tag] } });
    const told = await why(id);
    expect(told.workers.find(({ worker_id }) => worker_id === workerId)!.why).toEqual([
      `does not run exec jobs at present: ${problem("a path")}`,
    ]);
    const views = async (token: string) => {
      const one = (await hub.must("GET", `/workers/${workerId}`, { token })).json<WorkerView>();
      const all = (await hub.must("GET", "/workers", { token })).json<WorkerView[]>();
      return [one, all.find((worker) => worker.id === workerId)!].map((view) => view.sandbox_problem);
    };
    const viewer = await issueToken(hub, { role: "viewer", tenant_id: "acme" });
    expect(await views(viewer.token)).toEqual([problem("a path"), problem("a path")]);
    expect(await views(hub.admin)).toEqual([problem(folder), problem(folder)]);
  });

  test("B7: the hub is locked", async () => {
    const { id } = await submitJob(hub, { token: tokens.alice });
    await hub.must("POST", "/lockdown", { token: hub.admin, body: { reason: "a key leaked" } });
    const answer = await why(id);
    expect(answer.held_by).toBe("lockdown");
    expect(answer.summary).toBe(
      "The hub is locked (a key leaked); an administrator lifts it with `writ lockdown --lift`.",
    );
    await hub.must("DELETE", "/lockdown", { token: hub.admin });
  });
});

test("a job that was cancelled says so once", async () => {
  const { id } = await submitJob(hub, { token: tokens.alice });
  await hub.must("DELETE", `/jobs/${id}`, { token: tokens.alice });
  expect(await why(id)).toMatchObject({ status: "failed", summary: "It was cancelled." });
});

test("of a job that failed, why has the codes and the last line of stderr; of one that did not, neither", async () => {
  const { id, fence } = await runningJob(hub, { token: tokens.alice, max_attempts: 1 });
  expect((await why(id)).failure).toBeNull();
  const small_output = { stdout: "", stderr: Buffer.from("disk full\n").toString("base64") };
  const body = { ...fence, code: "OOM_KILLED", reason: "ran out of memory", small_output };
  await hub.must("POST", `/jobs/${id}/fail`, { token: hub.admin, body });
  expect((await why(id)).failure).toEqual({
    code: "EXECUTION_ERROR",
    detail: "OOM_KILLED",
    last_line: "disk full",
  });
});
