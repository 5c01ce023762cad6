import { expect, expectTypeOf, onTestFinished, test } from "vitest";
import { z } from "zod";
import { WritError } from "../core/errors.ts";
import { defineJob, type JobEvent, JobFailure, type StandardSchema } from "./index.ts";
import type { Job } from "./shapes.ts";
import { jobIdNumber, jobView, sendError, sendJson, startTinyHub } from "./testing/tiny-hub.ts";
import { Writ } from "./writ.ts";

const id = jobIdNumber(1);

/** A hub that accepts every job and has ended it, as the test says, when it is read. */
async function open(ended: Partial<Job> = {}) {
  const hub = await startTinyHub(({ path }, response) => {
    if (path === "/jobs") return sendJson(response, 201, { id, status: "pending" });
    if (path === "/jobs/events") return sendError(response, 503, "SHUTTING_DOWN");
    sendJson(response, 200, jobView({ id, status: "completed", ...ended }));
  });
  const writ = new Writ({ url: hub.url });
  onTestFinished(async () => {
    writ.close();
    await hub[Symbol.asyncDispose]();
  });
  return { hub, writ };
}

const add = defineJob<{ a: number; b: number }, { sum: number }>("add");
const when = defineJob(
  "when",
  z.object({ day: z.iso.date().transform((day) => new Date(day)), hour: z.int().default(12) }),
  z.object({ at: z.iso.datetime().transform((at) => new Date(at)) }),
);

/** A Standard Schema of no library. */
const shout: StandardSchema<string, string> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: async (value) =>
      typeof value === "string"
        ? { value: value.toUpperCase() }
        : { issues: [{ message: "is not a text", path: [{ key: "words" }, 0] }] },
  },
};

test("C9: params that do not fit the schema are refused before anything is sent", async () => {
  const { hub, writ } = await open();
  await expect(writ.submit(when, { day: "yesterday" })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringMatching(/^params\.day: /),
  });
  // @ts-expect-error a number is not a text
  await expect(writ.run(defineJob("shout", shout), 7)).rejects.toMatchObject({
    message: "params.words.0: is not a text",
  });
  expect(hub.seen).toEqual([]);
});

test("C9: params that JSON cannot carry are refused instead of becoming null", async () => {
  const { hub, writ } = await open();
  await expect(writ.submit(add, { a: 1, b: Number.NaN })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: "params.b: NaN cannot be written as JSON",
  });
  expect(hub.seen).toEqual([]);
});

test("C9: a job is submitted as it was given, with its options", async () => {
  const { hub, writ } = await open();
  expect(await writ.submit(when, { day: "2026-11-16" }, { priority: 7 })).toEqual({ id, status: "pending" });
  expect(JSON.parse(hub.seen[0]!.body)).toMatchObject({
    type: "when",
    params: { day: "2026-11-16" },
    priority: 7,
  });
});

test("C9: run gives the result through the schema", async () => {
  const { writ } = await open({ result: { at: "2026-11-16T12:00:00Z" } });
  const { at } = await writ.run(when, { day: "2026-11-16" }, { submit: { priority: 7 }, timeoutMs: 60_000 });
  expect(at).toEqual(new Date("2026-11-16T12:00:00Z"));
});

test("C9: run throws the failed job", async () => {
  const failure = { reason: "boom", code: "EXECUTION_ERROR" as const, detail: null, worker_id: "w1", ts: 0 };
  const { writ } = await open({
    status: "quarantined",
    type: "add",
    attempts: 3,
    fail_code: "EXECUTION_ERROR",
    fail_reason: "EXECUTION_ERROR_RETRY_EXHAUSTED",
    fail_history: [{ ...failure, attempt: 3 }],
  });
  const error = await writ.run(add, { a: 1, b: 2 }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(JobFailure);
  expect(error).toBeInstanceOf(WritError);
  expect(error).toMatchObject({
    code: "JOB_FAILED",
    message: `job ${id} (add) is quarantined after attempt 3 of 3: boom`,
    job: { id, fail_code: "EXECUTION_ERROR" },
  });
});

test("O-24: options have names of one style, and times with units", async () => {
  const { hub, writ } = await open();
  const key = { idempotencyKey: "k", maxAttempts: 2, timeoutSec: 30, queueTtlSec: 60 };
  await writ.submit(add, { a: 1, b: 2 }, { ...key, runAt: "2030-01-31T08:00:00Z" });
  expect(JSON.parse(hub.seen[0]!.body)).toEqual({
    type: "add",
    params: { a: 1, b: 2 },
    idempotency_key: "k",
    max_attempts: 2,
    timeout_sec: 30,
    queue_ttl_sec: 60,
    run_at: Date.UTC(2030, 0, 31, 8),
  });
  await writ.submit({ type: "add", idempotency_key: "k", delay: "5m" });
  expect(JSON.parse(hub.seen[1]!.body)).toEqual({ type: "add", idempotency_key: "k", delay_ms: 300_000 });
  await expect(writ.submit(add, { a: 1, b: 2 }, { delay: "soon" })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringMatching(/^delay: "soon" is not a length of time/),
  });
});

test("O-24: a batch of a definition checks and sends all params with the same options", async () => {
  const hub = await startTinyHub((_, response) =>
    sendJson(response, 201, {
      jobs: [1, 2].map((number) => ({ id: jobIdNumber(number), status: "pending" })),
    }),
  );
  const writ = new Writ({ url: hub.url });
  onTestFinished(async () => {
    writ.close();
    await hub[Symbol.asyncDispose]();
  });
  await expect(writ.submitBatch(when, [{ day: "2026-11-16" }, { day: "never" }])).rejects.toMatchObject({
    message: expect.stringMatching(/^params\.day: /),
  });
  expect(hub.seen).toEqual([]);
  expect(
    await writ.submitBatch(
      add,
      [
        { a: 1, b: 2 },
        { a: 3, b: 4 },
      ],
      { maxAttempts: 2 },
    ),
  ).toHaveLength(2);
  expect(JSON.parse(hub.seen[0]!.body)).toMatchObject({
    jobs: [
      { type: "add", params: { a: 1, b: 2 }, max_attempts: 2 },
      { type: "add", params: { a: 3, b: 4 }, max_attempts: 2 },
    ],
  });
});

test("O-24: result and results are typed by the definition, and go through its schema", async () => {
  const { writ } = await open({ result: { at: "2026-11-16T12:00:00Z" } });
  const at = new Date("2026-11-16T12:00:00Z");
  expect(await writ.result(when, id)).toEqual({ at });
  for await (const outcome of writ.results(when, [id])) expect(outcome).toMatchObject({ id, result: { at } });
  type Reads = (writ: Writ) => unknown;
  const typed = ((client) => client.result(add, id)) satisfies Reads;
  expectTypeOf(typed).returns.resolves.toEqualTypeOf<{ sum: number }>();
  const each = ((client) => client.results(add, [id])) satisfies Reads;
  type Outcome = ReturnType<typeof each> extends AsyncGenerator<infer O> ? O : never;
  expectTypeOf<Extract<Outcome, { isCompleted: true }>["result"]>().toEqualTypeOf<{ sum: number }>();
  const untyped = ((client) => client.result(id)) satisfies Reads;
  expectTypeOf(untyped).returns.resolves.toEqualTypeOf<unknown>();
});

test("C9: types flow from the definition to submit, run and failures", () => {
  type Run<D> = (writ: Writ, job: D) => unknown;
  const runAdd = ((writ, job) => writ.run(job, { a: 1, b: 2 })) satisfies Run<typeof add>;
  const runWhen = ((writ, job) => writ.run(job, { day: "2026-11-16" })) satisfies Run<typeof when>;
  expectTypeOf(runAdd).returns.resolves.toEqualTypeOf<{ sum: number }>();
  expectTypeOf(runWhen).returns.resolves.toEqualTypeOf<{ at: Date }>();
  // @ts-expect-error b is missing
  ((writ, job) => writ.submit(job, { a: 1 })) satisfies Run<typeof add>;
  // @ts-expect-error a job has no such option
  ((writ, job) => writ.submit(job, { a: 1, b: 2 }, { prio: 7 })) satisfies Run<typeof add>;
  expectTypeOf<JobFailure["code"]>().toEqualTypeOf<"JOB_FAILED">();
  expectTypeOf<JobFailure["job"]>().toEqualTypeOf<Job>();
});

test("C9: the name of an event determines its fields", () => {
  type Named<Name> = Extract<JobEvent, { event: Name }>;
  expectTypeOf<Named<"job:progress">["progress"]>().toEqualTypeOf<number>();
  expectTypeOf<JobEvent["event"]>().toEqualTypeOf<
    | "reset"
    | "job:created"
    | "job:assigned"
    | "job:running"
    | "job:progress"
    | "job:agent"
    | "job:completed"
    | "job:failed"
    | "job:retrying"
    | "job:quarantined"
    | "job:held"
    | "job:unblocked"
    | "job:stopped"
  >();
  expectTypeOf<Exclude<JobEvent, { event: "reset" }>["status"]>().toEqualTypeOf<Job["status"]>();
});
