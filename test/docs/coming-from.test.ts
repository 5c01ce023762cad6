import { afterEach, expect, test } from "vitest";
import { parse } from "yaml";
import type { ScheduleInput } from "../../src/client/index.ts";
import { defineJob } from "../../src/contract/define-job.ts";
import { Final } from "../../src/runners/final.ts";
import { RetryIn } from "../../src/runners/retry-in.ts";
import { TestHub, type TestHubOptions } from "../../src/testing/test-hub.ts";
import { readBlock } from "./page.ts";

// The pages for people who come from elsewhere: their code is run as it stands there.
const bullmq = "docs/coming-from-bullmq.md";
const pgBoss = "docs/coming-from-pg-boss.md";

const hubs: TestHub[] = [];
afterEach(async () => {
  for (const hub of hubs.splice(0)) await hub.stop();
});

type Handlers = TestHubOptions & { notes?: string[]; fails?: string[] };

/** A hub whose handlers note the params that they were given, or fail. It starts with the first call of its client. */
function hubWith({ notes = [], fails = [], ...options }: Handlers = {}) {
  const hub = new TestHub({ now: new Date("2030-01-31T00:00:00Z"), ...options });
  hubs.push(hub);
  const ran: unknown[] = [];
  for (const type of notes) hub.handle(type, ({ params }) => void ran.push(params));
  for (const type of fails)
    hub.handle(type, () => {
      throw new Error("it fails");
    });
  let started: Promise<unknown> | undefined;
  const start = () => (started ??= hub.start());
  const run = async (page: string, block: string) => {
    const code = readBlock(page, block).replace(/^```js\n|```$/g, "");
    const given = { worker: hub, writ: callable(start, () => hub.writ), defineJob, Final, RetryIn };
    const last = 'return typeof sum === "undefined" ? null : sum;';
    const made = await new AsyncFunction(...Object.keys(given), `${code}\n${last}`)(...Object.values(given));
    await start();
    return made;
  };
  return { hub, ran, run, start };
}

const AsyncFunction = (async () => {}).constructor as new (
  ...words: string[]
) => (...given: unknown[]) => Promise<unknown>;

type Members = Record<string, unknown>;

/** Stands for an object that is there after `start`: its methods, and those of its members, can be called before. */
function callable(
  start: () => Promise<unknown>,
  target: () => object,
  path: readonly string[] = [],
): unknown {
  return new Proxy(() => {}, {
    get: (_, name: string) => callable(start, target, [...path, name]),
    apply: async (_, __, args: unknown[]) => {
      await start();
      const owner = path.slice(0, -1).reduce((at, name) => at[name] as Members, target() as Members);
      return (owner[path.at(-1)!] as (...args: unknown[]) => unknown).apply(owner, args);
    },
  });
}

test.each([
  [bullmq, "delayed"],
  [pgBoss, "after"],
])("%s: a delayed job runs when its time has come", async (page, block) => {
  const { hub, ran, run } = hubWith({ notes: ["remind"] });
  await run(page, block);
  await hub.advance("299s");
  expect(ran).toEqual([]);
  await hub.advance("1s");
  expect(ran).toEqual([{ id: 7 }]);
});

test("BullMQ: the higher priority comes first", async () => {
  const { hub, ran, run } = hubWith({ notes: ["mail"], mode: "manual" });
  await run(bullmq, "priorities");
  await hub.run();
  expect(ran).toEqual([{ to: "b" }, { to: "a" }]);
});

test("BullMQ: schedulers make their jobs by cron and by interval", async () => {
  const { hub, run } = hubWith({ notes: ["report", "poll"] });
  await run(bullmq, "schedulers");
  await hub.advance("5m");
  expect(await hub.jobs("report")).toHaveLength(0);
  expect((await hub.jobs("poll")).length).toBeGreaterThanOrEqual(5);
  await hub.writ.schedules.pause("poll");
  await hub.advance("90m");
  expect(await hub.jobs("report")).toHaveLength(1);
});

test("pg-boss: a schedule makes its job", async () => {
  const { hub, run } = hubWith({ notes: ["report"] });
  await run(pgBoss, "schedule");
  await hub.advance("24h");
  expect(await hub.jobs("report")).toHaveLength(1);
});

test.each([
  [bullmq, "retries"],
  [pgBoss, "retries"],
])("%s: a job that fails is tried five times, and is a dead letter then", async (page, block) => {
  const { hub, run } = hubWith({ fails: ["charge"] });
  await run(page, block);
  expect(await hub.jobs("charge")).toMatchObject([{ status: "pending", attempt: 1 }]);
  // At most 1, 2, 4 and 8 seconds; jitter makes them shorter.
  await hub.advance("15s");
  expect(await hub.jobs("charge")).toMatchObject([{ status: "quarantined", attempt: 5 }]);
});

test("BullMQ: a final failure is not tried again", async () => {
  const { hub, run } = hubWith();
  await run(bullmq, "unrecoverable");
  await hub.writ.submit({ type: "charge" });
  expect(await hub.jobs("charge")).toMatchObject([{ status: "failed", fail_detail: "CARD_DECLINED" }]);
});

test("BullMQ: a job that is told when to come back does so", async () => {
  const { hub, run } = hubWith();
  await run(bullmq, "told");
  await hub.writ.submit({ type: "call" });
  const [job] = await hub.jobs("call");
  expect(job).toMatchObject({ status: "pending", attempt: 1, run_at: hub.now + 30_000 });
});

test("BullMQ: a result is awaited", async () => {
  expect(await hubWith().run(bullmq, "results")).toBe(3);
});

test("BullMQ: a paused queue gives no job, until it is resumed", async () => {
  const { hub, run } = hubWith({ notes: ["mail"] });
  await run(bullmq, "pause");
  await hub.writ.submit({ type: "mail" });
  expect(await hub.jobs("mail")).toMatchObject([{ status: "completed" }]);
});

test.each([
  [bullmq, 5],
  [pgBoss, 60],
])("%s: a duplicate is answered with the job that stands, and none is made", async (page, waitSec) => {
  const { hub, run } = hubWith({ mode: "manual" });
  await run(page, "unique");
  await run(page, "unique");
  const jobs = await hub.jobs("index");
  expect(jobs.map(({ params }) => params)).toEqual([{ id: 7 }, { id: 8 }, { id: 9 }]);
  expect(jobs[2]!.run_at).toBe(hub.now + waitSec * 1_000);
  // The window is over, and the debounced job can start.
  await hub.advance(`${waitSec}s`);
  await run(page, "unique");
  expect((await hub.jobs("index")).map(({ params }) => params)).toEqual([
    { id: 7 },
    { id: 8 },
    { id: 9 },
    { id: 8 },
  ]);
});

test.each([
  [bullmq, "payments", 4],
  [pgBoss, "customer-42", 1],
])("%s: no more jobs of a lane run at once than it has places", async (page, name, places) => {
  const { hub, run } = hubWith({ mode: "manual" });
  let [running, most, ended] = [0, 0, 0];
  hub.handle("charge", async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    ended++;
  });
  for (let count = 0; count < 10; count++) await run(page, "lanes");
  expect(await Array.fromAsync(hub.writ.lanes())).toMatchObject([{ name, max_running: places }]);
  await hub.run();
  expect(ended).toBe(10);
  expect(most).toBeLessThanOrEqual(places);
});

test("BullMQ: a job says how long it is kept", async () => {
  const { hub, run } = hubWith({ mode: "manual" });
  await run(bullmq, "keep");
  expect(await hub.jobs("poll")).toMatchObject([{ keep_sec: 3_600 }]);
});

test("pg-boss: an attempt and the job have a time limit each", async () => {
  const { hub, run } = hubWith({ mode: "manual" });
  await run(pgBoss, "expire");
  expect(await hub.jobs("report")).toMatchObject([{ timeout_sec: 600, status: "pending" }]);
  await hub.advance("30m");
  expect(await hub.jobs("report")).toMatchObject([{ status: "failed", fail_code: "EXPIRED" }]);
});

test("pg-boss: dead letters go back", async () => {
  const { hub, run, start } = hubWith({ fails: ["mail"], mode: "manual" });
  await start();
  await hub.writ.submit({ type: "mail", retry: { max: 1, delay_sec: 0 } });
  await hub.run();
  await hub.advance("1s");
  await hub.run();
  expect(await hub.jobs("mail")).toMatchObject([{ status: "quarantined" }]);
  await run(pgBoss, "dead");
  expect(await hub.jobs("mail")).toMatchObject([{ status: "pending" }]);
});

test("pg-boss: many jobs are submitted at once", async () => {
  const { hub, ran, run } = hubWith({ notes: ["mail"] });
  await run(pgBoss, "batch");
  expect(await hub.jobs("mail")).toHaveLength(2);
  expect(ran).toContainEqual({ to: "a" });
});

test("cron: a hub accepts the schedules of the file", async () => {
  const { hub, start } = hubWith({ mode: "manual" });
  await start();
  const text = readBlock("docs/coming-from-cron.md", "file").replace(/^```yaml\n|```$/g, "");
  const { schedules } = parse(text) as { schedules: Record<string, ScheduleInput> };
  for (const [name, schedule] of Object.entries(schedules)) await hub.writ.schedules.put(name, schedule);
  const names = await Array.fromAsync(hub.writ.schedules.list(), ({ name }) => name);
  expect(names).toEqual(Object.keys(schedules).sort());
});
