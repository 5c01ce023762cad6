import { expect, onTestFinished, test } from "vitest";
import type { StatisticsView } from "../../src/contract/routes/statistics-routes.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { claimedJob, completedJob, failedJob, freshName, submitJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

async function read(from: TestHub, query = "", token = from.admin): Promise<StatisticsView> {
  return (await from.must("GET", `/stats${query}`, { token })).json<StatisticsView>();
}

const sum = (numbers: number[]) => numbers.reduce((all, one) => all + one, 0);

test("count what happened to jobs of a type, step by step and in total", async () => {
  const type = freshName("type");
  await completedJob(hub, { type });
  await failedJob(hub, { type, max_attempts: 1 });
  const cancelled = await submitJob(hub, { type });
  await hub.must("DELETE", `/jobs/${cancelled.id}`, { token: hub.admin });
  await claimedJob(hub, { type });
  await submitJob(hub, { type });
  const stats = await read(hub, `?range=15m&type=${type}`);
  expect(stats.totals).toMatchObject({ submitted: 5, completed: 1, failed: 1, cancelled: 1 });
  expect(stats.totals.wait_p50_ms).not.toBeNull();
  expect(stats.totals.run_p95_ms).not.toBeNull();
  expect(stats.now).toMatchObject({ depth: 1, running: 1 });
  const { at, submitted, completed, failed, wait_p50_ms: waits } = stats.series;
  expect([at, submitted, completed, failed, waits].map(({ length }) => length)).toEqual([
    180, 180, 180, 180, 180,
  ]);
  expect([sum(submitted), sum(completed), sum(failed)]).toEqual([5, 1, 1]);
  expect(at.every((moment, i) => moment === stats.from + i * stats.step_ms)).toBe(true);
  expect(stats.causes).toMatchObject([{ type, jobs: 1 }]);
  expect(sum(stats.causes[0]!.series)).toBe(1);
});

test("a tenant's statistics hold nothing of another tenant", async () => {
  const type = freshName("type");
  await submitJob(hub, { type });
  const { token } = await issueToken(hub, { role: "viewer", tenant_id: "elsewhere" });
  const stats = await read(hub, "?range=1h", token);
  expect(stats).toMatchObject({ tenant_id: "elsewhere", totals: { submitted: 0 }, by_type: [], causes: [] });
  expect(stats.states).toMatchObject({ pending: 0, active: 0, completed: 0 });
  const all = await read(hub);
  expect(all.by_type).toContainEqual(expect.objectContaining({ type, submitted: 1 }));
});

test("one tenant can be picked only by a caller who sees all", async () => {
  const { token } = await issueToken(hub, { role: "user", user_id: "ann", tenant_id: "picked" });
  await submitJob(hub, { token, type: freshName("type") });
  expect(await read(hub, "?tenant_id=picked")).toMatchObject({
    tenant_id: "picked",
    totals: { submitted: 1 },
    now: { depth: 1 },
    states: { pending: 1 },
  });
  const { token: viewer } = await issueToken(hub, { role: "viewer", tenant_id: "elsewhere" });
  expect(await read(hub, "?tenant_id=elsewhere", viewer)).toMatchObject({ tenant_id: "elsewhere" });
  const refused = await hub.call("GET", "/stats?tenant_id=picked", { token: viewer });
  expect(refused).toMatchObject({ status: 404, code: "NOT_FOUND" });
  expect(refused.text).toContain("there is no tenant picked");
});

test("a user does not read them: they tell of other users' jobs", async () => {
  expect(await hub.call("GET", "/stats", { token: tokens.alice })).toMatchObject({ status: 403 });
});

test("another range than those there are is refused, with those there are", async () => {
  const answer = await hub.call("GET", "/stats?range=2h", { token: hub.admin });
  expect(answer).toMatchObject({ status: 400 });
  expect(answer.text).toContain("15m, 1h, 6h, 24h, 30d");
});

test("what was counted before a restart is still there, in every range", async () => {
  const first = await startTestHub(stillEnv);
  const { type } = await completedJob(first);
  await submitJob(first, { type });
  await first.stop({ keepHome: true });
  const second = await startTestHub(stillEnv, { home: first.home });
  onTestFinished(() => second.stop());
  await submitJob(second, { type });
  for (const range of ["15m", "1h", "6h", "24h", "30d"]) {
    const stats = await read(second, `?range=${range}`);
    expect(stats.totals, range).toMatchObject({ submitted: 3, completed: 1 });
    expect(sum(stats.series.submitted), range).toBe(3);
    expect(stats.states).toMatchObject({ pending: 2, completed: 1 });
  }
});
