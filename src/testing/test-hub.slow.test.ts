import { afterEach, expect, test } from "vitest";
import { defineJob } from "../contract/define-job.ts";
import { scheduledFor } from "../core/schedules/scheduled-for.ts";
import { TestHub, type TestHubOptions } from "./test-hub.ts";

const hubs: TestHub[] = [];
const hubOf = (options?: TestHubOptions): TestHub => {
  const hub = new TestHub(options);
  hubs.push(hub);
  return hub;
};
afterEach(async () => {
  for (const hub of hubs.splice(0)) await hub.stop();
});

const add = defineJob<{ a: number; b: number }, { sum: number }>("add");

test("options and lengths of time that mean nothing are refused", async () => {
  expect(() => hubOf({ mode: "eager" as never })).toThrow('mode: must be inline or manual, is "eager"');
  expect(() => hubOf({ now: Number.NaN })).toThrow("now: must be a Date");
  expect(() => hubOf({ clock: 1 } as never)).toThrow("clock: is not an option of TestHub");
  const hub = hubOf();
  expect(() => hub.writ).toThrow("the test hub is not running; call start() first");
  await hub.start();
  await expect(hub.start()).rejects.toThrow("already been started");
  expect(() => hub.handle("late", () => null)).toThrow("before the hub starts");
  for (const length of ["soon", -1, 1.5])
    await expect(hub.advance(length)).rejects.toThrow("is not a length of time");
});

test("inline: a submission is answered when its job has ended", async () => {
  const hub = await hubOf()
    .handle(add, ({ params }) => ({ sum: params.a + params.b }))
    .start();
  const { id } = await hub.writ.submit(add, { a: 1, b: 2 });
  expect(await hub.writ.get(id)).toMatchObject({ status: "completed", result: { sum: 3 } });
  expect(await hub.writ.run(add, { a: 3, b: 4 })).toEqual({ sum: 7 });
});

test("inline: a job that a handler submits has ended too", async () => {
  const order: string[] = [];
  const hub = hubOf()
    .handle("parent", async () => {
      await hub.writ.submit({ type: "child" });
      order.push("parent");
    })
    .handle("child", () => void order.push("child"));
  await hub.start();
  await hub.writ.submit({ type: "parent" });
  expect(order).toEqual(["child", "parent"]);
});

test("inline: a job that no handler of the hub takes waits, and so does its submission not", async () => {
  const hub = await hubOf()
    .handle("a", () => null)
    .start();
  const { id } = await hub.writ.submit({ type: "b" });
  expect(await hub.writ.get(id)).toMatchObject({ status: "pending" });
});

test("manual: nothing runs until the test says so, and a second run has nothing to do", async () => {
  const hub = await hubOf({ mode: "manual" })
    .handle(add, ({ params }) => ({ sum: params.a + params.b }))
    .start();
  const { id } = await hub.writ.submit(add, { a: 1, b: 2 });
  expect(await hub.writ.get(id)).toMatchObject({ status: "pending" });
  expect(await hub.run()).toMatchObject([{ id, status: "completed", result: { sum: 3 } }]);
  expect(await hub.run()).toEqual([]);
});

test("a retry waits for the time that the test moves", async () => {
  let tries = 0;
  const hub = await hubOf({ now: new Date("2030-01-01T00:00:00Z") })
    .handle("flaky", () => {
      if (++tries < 3) throw new Error("not yet");
      return "done";
    })
    .start();
  const { id } = await hub.writ.submit({ type: "flaky" });
  const failed = await hub.writ.get(id);
  expect(failed).toMatchObject({
    status: "pending",
    attempt: 1,
    fail_history: [{ code: "EXECUTION_ERROR" }],
  });
  await hub.advance(29_999);
  expect(tries).toBe(1);
  await hub.advance("1m");
  await hub.advance("1h");
  expect(await hub.writ.get(id)).toMatchObject({ status: "completed", attempt: 3, result: "done" });
});

test("time stops at each moment at which a job is due", async () => {
  const startedAt: number[] = [];
  const start = Date.UTC(2030, 0, 1);
  const hub = await hubOf({ now: start })
    .handle("later", () => void startedAt.push(hub.now - start))
    .start();
  for (const delay of ["2h", "90s", "1d"]) await hub.writ.submit({ type: "later", delay });
  await hub.advance("2d");
  expect(startedAt).toEqual([90_000, 7_200_000, 86_400_000]);
  expect(hub.now).toBe(start + 2 * 86_400_000);
});

test("a worker that is silent for longer than its lease loses the job, and the job is tried again", async () => {
  const attempts: number[] = [];
  const hub = await hubOf()
    .handle("long", async ({ attempt }, { signal }) => {
      attempts.push(attempt);
      if (attempt > 1) return "second";
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return "first";
    })
    .start();
  const submitted = hub.writ.submit({ type: "long" });
  await expect.poll(() => attempts).toEqual([1]);
  await hub.advance("5m", { isWorkerSilent: true });
  await hub.advance("5m");
  expect(await hub.writ.get((await submitted).id)).toMatchObject({
    status: "completed",
    attempt: 2,
    result: "second",
  });
});

test("a worker that is heard keeps its job through fifty minutes that the test moves", async () => {
  const attempts: number[] = [];
  const release = Promise.withResolvers<string>();
  const hub = await hubOf()
    .handle("long", ({ attempt }) => {
      attempts.push(attempt);
      return release.promise;
    })
    .start();
  const submitted = hub.writ.submit({ type: "long", timeout_sec: 3_600 });
  await expect.poll(() => attempts).toEqual([1]);
  await hub.advance("50m");
  release.resolve("kept");
  expect(await hub.writ.get((await submitted).id)).toMatchObject({
    status: "completed",
    attempt: 1,
    result: "kept",
  });
});

test("submitted jobs are found by a part of their params, and a failed expectation shows what there was", async () => {
  const hub = await hubOf({ mode: "manual" }).start();
  await hub.writ.submit({ type: "email.send", params: { to: "ada@example.com", lines: [1, 2] } });
  expect(await hub.expectJob("email.send", { to: "ada@example.com" })).toMatchObject({ type: "email.send" });
  await hub.expectNoJob("email.drop");
  await expect(hub.expectJob("email.drop")).rejects.toThrow(
    "no job of type email.drop was submitted; these types were: email.send",
  );
  await expect(hub.expectJob("email.send", { lines: [1] })).rejects.toMatchObject({
    name: "AssertionError",
    actual: [{ to: "ada@example.com", lines: [1, 2] }],
    expected: { lines: [1] },
  });
  await expect(hub.expectNoJob("email.send")).rejects.toThrow("1 jobs of type email.send were submitted");
});

test("two hubs in one process know nothing of each other", async () => {
  const [one, two] = [await hubOf({ mode: "manual" }).start(), await hubOf({ mode: "manual" }).start()];
  await one.writ.submit({ type: "a" });
  expect(await two.jobs()).toEqual([]);
});

test("a schedule makes its jobs when the test moves the time, each once", async () => {
  const times: unknown[] = [];
  const hub = await hubOf({ now: new Date("2030-01-31T08:00:00Z") })
    .handle("report", ({ document }) => void times.push(scheduledFor(document)))
    .start();
  await hub.writ.schedules.put("nightly", { job: { type: "report" }, cron: "30 2 * * *", catch_up: "all" });
  await hub.advance("18h");
  expect(times).toEqual([]);
  await hub.advance("48h");
  expect(times).toEqual(["2030-02-01", "2030-02-02"].map((day) => `${day}T02:30:00.000Z`));
  await hub.writ.schedules.pause("nightly");
  await hub.advance("48h");
  expect(times).toHaveLength(2);
});
