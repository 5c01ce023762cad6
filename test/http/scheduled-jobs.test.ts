import { expect, test } from "vitest";
import type { JobCounts } from "../../src/contract/list-query.ts";
import type { StatisticsView } from "../../src/contract/routes/statistics-routes.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, registerWorker, submitJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { memoryHubForAll } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);

/** A tenant of its own, so that no other test's jobs are counted. */
async function newTenant() {
  const tenant = freshName("tenant").replaceAll("-", "_");
  const { token } = await issueToken(hub, { role: "admin", tenant_id: tenant, user_id: "ops" });
  return { tenant, token };
}

const later = () => Date.now() + 3_600_000;

async function countOf(token: string, status: string): Promise<number> {
  const answer = await hub.must("GET", `/jobs?status=${status}&count=true&limit=1`, { token });
  return Number(answer.headers["x-total-count"]);
}

const statistics = async (token: string) =>
  (await hub.must("GET", "/stats?range=15m", { token })).json<StatisticsView>();

test("O-28 an unknown state is refused, with the two parts of pending among what is allowed", async () => {
  const answer = await hub.call("GET", "/jobs?status=soon", { token: hub.admin });
  expect(answer.status).toBe(400);
  expect(answer.text).toContain("waiting or scheduled for a part of pending");
});

test("O-28 scheduled jobs are listed and counted apart, and are in no depth and no waiting count", async () => {
  const { token } = await newTenant();
  const waits = await submitJob(hub, { token });
  const scheduled = await submitJob(hub, { token, run_at: later() });
  const ids = async (status: string) => {
    const jobs = (await hub.must("GET", `/jobs?status=${status}`, { token })).json<{ id: string }[]>();
    return jobs.map(({ id }) => id);
  };
  expect(await ids("waiting")).toEqual([waits.id]);
  expect(await ids("scheduled")).toEqual([scheduled.id]);
  expect(await ids("pending")).toEqual([scheduled.id, waits.id]);
  expect(await ids("waiting,scheduled")).toEqual([scheduled.id, waits.id]);
  expect([await countOf(token, "waiting"), await countOf(token, "scheduled")]).toEqual([1, 1]);
  const counts = (await hub.must("GET", "/jobs/counts", { token })).json<JobCounts>();
  const one = { count: 1, is_more: false };
  expect(counts).toMatchObject({ pending: one, scheduled: one, running: { count: 0 } });
  const { now, states } = await statistics(token);
  expect(now).toMatchObject({ depth: 1, scheduled: 1 });
  expect(states.pending).toBe(2);
  const queues = (await hub.must("GET", "/queues", { token })).json<{ type: string }[]>();
  expect(queues.find(({ type }) => type === scheduled.type)).toMatchObject({ pending: 1, scheduled: 1 });
});

test("O-28 jobs that no worker can run are counted by type, with what the closest worker lacks", async () => {
  const { tenant, token } = await newTenant();
  const { type } = await submitJob(hub, { token, requires: { tags: ["gpu"] } });
  await submitJob(hub, { token, type, requires: { tags: ["gpu"] } });
  await submitJob(hub, { token, type, requires: { tags: ["gpu"] }, run_at: later() });
  const worker = await registerWorker(hub);
  const { unrunnable } = (await statistics(token)).now;
  expect(unrunnable).toMatchObject({ jobs: 2, queues: [{ tenant_id: tenant, type, jobs: 2 }] });
  expect(unrunnable!.queues[0]!.why).toContain("gpu");
  await hub.must("PUT", `/queues/${type}`, { token: hub.admin, body: { paused: true } });
  expect((await statistics(token)).now.unrunnable).toEqual({ jobs: 0, queues: [] });
  await hub.must("PUT", `/queues/${type}`, { token: hub.admin, body: { paused: false } });
  await registerWorker(hub, { worker_id: worker, tags: ["gpu"] });
  expect((await statistics(token)).now.unrunnable).toEqual({ jobs: 0, queues: [] });
});
