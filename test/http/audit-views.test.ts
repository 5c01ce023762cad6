import { expect, test } from "vitest";
import type { AuditView } from "../../src/contract/shapes/audit-shapes.ts";
import { stillEnv } from "../support/hub.ts";
import {
  cancelledJob,
  completedJob,
  failedJob,
  freshName,
  registerWorker,
  runningJob,
  submitJob,
} from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

async function audit(query: string, token = hub.admin): Promise<AuditView[]> {
  return (await hub.must("GET", `/audit?limit=1000&${query}`, { token })).json<AuditView[]>();
}

const lastSeq = async () => (await audit(""))[0]!.seq;

test("O-33 progress is in the trail only on request", async () => {
  const held = await runningJob(hub);
  await hub.must("POST", `/jobs/${held.id}/progress`, {
    token: hub.admin,
    body: { ...held.fence, progress: 50 },
  });
  const eventsOf = async (query: string) =>
    (await audit(`job_id=${held.id}${query}`)).map(({ event }) => event);
  expect(await eventsOf("")).toEqual(["JOB_STARTED", "JOB_ASSIGNED", "JOB_CREATED"]);
  expect(await eventsOf("&event=JOB_PROGRESS")).toEqual(["JOB_PROGRESS"]);
});

test("O-33 a bulk act has one record for itself, which leads to those of its jobs", async () => {
  const type = freshName("bulk");
  const jobs = [
    await submitJob(hub, { type }),
    await submitJob(hub, { type }),
    await submitJob(hub, { type }),
  ];
  const done = await completedJob(hub);
  const before = await lastSeq();
  const ids = [...jobs.map(({ id }) => id), done.id];
  const dry = { act: "cancel", ids, dry_run: true };
  await hub.must("POST", "/jobs/bulk", { token: hub.admin, body: dry });
  await hub.must("POST", "/jobs/bulk", { token: hub.admin, body: { act: "cancel", ids } });
  const [parent, ...others] = await audit("event=JOBS_CHANGED");
  expect(others).toEqual([]);
  expect(parent).toMatchObject({
    details: { act: "cancel", matched: 4, done: 3, left: 1, after_seq: before },
    context: { endpoint: "/jobs/bulk", method: "POST" },
  });
  expect(parent!.user_id).not.toBeNull();
  const children = await audit(`after=${before}&cursor=${parent!.seq}`);
  expect(children.map(({ job_id }) => job_id).sort()).toEqual(jobs.map(({ id }) => id).sort());
});

test("O-33 the view people has each act of a person once, and no acts of workers and the hub", async () => {
  const before = await lastSeq();
  const type = freshName("people");
  const workerId = await registerWorker(hub, { token: tokens.worker });
  await failedJob(hub, { workerId });
  const failed = await failedJob(hub, { workerId });
  await hub.must("POST", `/jobs/${failed.id}/retry`, { token: hub.admin, body: {} });
  const cancelled = await cancelledJob(hub);
  await submitJob(hub, { type });
  await hub.must("POST", "/jobs/bulk", { token: hub.admin, body: { act: "cancel", filter: { type } } });
  await hub.must("POST", `/workers/${workerId}/drain`, { token: hub.admin, body: {} });
  const seen = (await audit(`view=people&after=${before}`)).map(({ event, job_id }) => [event, job_id]);
  expect(seen.reverse()).toEqual([
    ["JOB_RETRYING", failed.id],
    ["JOB_FAILED", cancelled.id],
    ["JOBS_CHANGED", null],
    ["WORKER_DRAINED", null],
  ]);
  expect((await audit(`after=${before}`)).length).toBeGreaterThan(10);
  expect((await hub.call("GET", "/audit?view=robots", { token: hub.admin })).status).toBe(400);
});

test("the view people has the paths that people tried to leave their folder by, and not a worker that stops", async () => {
  const before = await lastSeq();
  const [staying, leaving] = [freshName("staying"), freshName("leaving")];
  for (const id of [staying, leaving]) await registerWorker(hub, { token: tokens.worker, worker_id: id });
  const tried = { type: "t", repo_root: "/../etc" };
  expect((await hub.call("POST", "/jobs", { token: hub.admin, body: tried })).status).toBe(400);
  await hub.must("DELETE", `/workers/${leaving}`, { token: tokens.worker });
  await hub.must("DELETE", `/workers/${staying}`, { token: hub.admin });
  const seen = (await audit(`view=people&after=${before}`)).reverse();
  expect(seen.map(({ event, details }) => [event, details["worker_id"]])).toEqual([
    ["PATH_TRAVERSAL_ATTEMPT", undefined],
    ["WORKER_DEREGISTERED", staying],
  ]);
  expect(await audit(`view=people&severity=HIGH&after=${before}`)).toMatchObject([
    { event: "PATH_TRAVERSAL_ATTEMPT", severity: "HIGH" },
  ]);
});
