import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../test/support/eventually.ts";
import type { Handlers } from "./handlers.ts";
import { type JobServer, type ServeOptions, serveJobs, withSchema } from "./index.ts";

let server: JobServer | undefined;
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-jobs-"));
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
  rmSync(dir, { recursive: true });
});

async function serve(handlers: Handlers, options: Partial<ServeOptions> = {}): Promise<void> {
  server = await serveJobs(handlers, { port: 0, ...options });
}

async function call(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`http://127.0.0.1:${server!.port}${path}`, {
    method,
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: answer.status, body: await answer.json() };
}

const submit = (body: unknown) => call("POST", "/job", body);
const ask = async (id: string) => (await call("GET", `/job/${id}`)).body as Record<string, unknown>;

async function ended(id: string): Promise<Record<string, unknown>> {
  return eventually(`job ${id} ends`, async () => {
    const job = await ask(id);
    return (job["status"] === "completed" || job["status"] === "failed") && job;
  });
}

test.each([
  ["text that is not JSON", "{", 400, "INVALID_JSON"],
  ["a list", [], 400, "INVALID_JSON"],
  ["no id", { job_class: "echo" }, 400, "MISSING_JOB_ID"],
  ["an empty id", { job_id: "", job_class: "echo" }, 400, "MISSING_JOB_ID"],
  ["no class", { job_id: "1" }, 400, "UNKNOWN_JOB_CLASS"],
  ["a class without a handler", { job_id: "1", job_class: "toString" }, 400, "UNKNOWN_JOB_CLASS"],
  ["an input that does not fit", { job_id: "1", job_class: "typed", job_input: {} }, 400, "INVALID_INPUT"],
  ["a job that has not ended", { job_id: "busy", job_class: "echo" }, 409, "DUPLICATE_JOB_ID"],
])("%s is refused", async (_name, body, status, code) => {
  const hold = Promise.withResolvers<void>();
  await serve({
    echo: ({ input }) => input,
    hold: () => hold.promise,
    typed: withSchema(z.object({ width: z.number() }), () => null),
  });
  await submit({ job_id: "busy", job_class: "hold" });
  expect(await submit(body)).toMatchObject({ status, body: { accepted: false, error: { code } } });
  hold.resolve();
  await ended("busy");
});

test("a refused input names the field", async () => {
  await serve({ typed: withSchema(z.object({ width: z.number() }), () => null) });
  const { body } = await submit({ job_id: "1", job_class: "typed", job_input: { width: "x" } });
  expect((body as { error: { message: string } }).error.message).toMatch(/^job_input\.width: /);
});

test("an unknown job is not found", async () => {
  await serve({});
  for (const method of ["GET", "DELETE"])
    expect(await call(method, "/job/1")).toMatchObject({
      status: 404,
      body: { error: { code: "JOB_NOT_FOUND" } },
    });
});

test("a handler gets the job, and its return value is the result", async () => {
  const schema = z.object({ width: z.number().default(7) });
  await serve({
    "resize.v1": withSchema(schema, ({ input, ...job }) => ({ ...job, half: input.width / 2 })),
  });
  const job = { job_id: "1", job_class: "resize.v1", job_input: {}, job_output_dir: "/out" };
  expect(await submit(job)).toEqual({ status: 202, body: { accepted: true, job_id: "1" } });
  expect(await ended("1")).toEqual({
    job_id: "1",
    job_class: "resize.v1",
    status: "completed",
    result: { id: "1", jobClass: "resize.v1", outputDir: "/out", half: 3.5 },
  });
});

test("an error fails the job, and a job that has failed can come again", async () => {
  let tries = 0;
  await serve({
    flaky: () => {
      tries++;
      if (tries === 1) throw new Error("not today");
      if (tries === 2) throw Object.assign(new Error("too wide"), { code: "INVALID_INPUT" });
      return tries;
    },
  });
  const codes = ["JOB_EXECUTION_ERROR", "INVALID_INPUT"];
  for (const [index, message] of ["not today", "too wide"].entries()) {
    expect(await submit({ job_id: "1", job_class: "flaky" })).toMatchObject({ status: 202 });
    expect(await ended("1")).toMatchObject({ status: "failed", error: { code: codes[index], message } });
  }
  await submit({ job_id: "1", job_class: "flaky" });
  expect(await ended("1")).toMatchObject({ status: "completed", result: 3 });
});

test("a result that is not JSON fails the job", async () => {
  await serve({ big: () => 1n, none: () => undefined });
  await submit({ job_id: "1", job_class: "big" });
  expect(await ended("1")).toMatchObject({ status: "failed", error: { code: "JOB_EXECUTION_ERROR" } });
  await submit({ job_id: "2", job_class: "none" });
  expect(await ended("2")).toMatchObject({ status: "completed", result: null });
});

test("logs are complete when the job has ended, and progress can be asked for", async () => {
  const hold = Promise.withResolvers<void>();
  await serve({
    talk: async (_job, { log, logError, progress }) => {
      progress(40, "half of it");
      log("one");
      logError("oh");
      await hold.promise;
      log("two");
    },
  });
  const [job_log_out, job_log_err] = [join(dir, "out"), join(dir, "err")];
  await submit({ job_id: "1", job_class: "talk", job_log_out, job_log_err });
  expect(await ask("1")).toMatchObject({ status: "running", progress: 40, progress_detail: "half of it" });
  expect(readFileSync(job_log_out, "utf8")).toBe("one\n");
  hold.resolve();
  await ended("1");
  expect(readFileSync(job_log_out, "utf8")).toBe("one\ntwo\n");
  expect(readFileSync(job_log_err, "utf8")).toBe("oh\n");
});

test("a log that cannot be written does not fail the job", async () => {
  await serve({ talk: (_job, { log }) => log("one") });
  await submit({ job_id: "1", job_class: "talk", job_log_out: join(dir, "no/such/dir") });
  expect(await ended("1")).toMatchObject({ status: "completed" });
});

test("a cancelled job has ended when its handler has", async () => {
  const stopped = Promise.withResolvers<void>();
  await serve({
    wait: async (_job, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      await stopped.promise;
    },
  });
  await submit({ job_id: "1", job_class: "wait" });
  expect(await call("DELETE", "/job/1")).toMatchObject({ status: 202, body: { status: "running" } });
  stopped.resolve();
  expect(await ended("1")).toMatchObject({ status: "failed", error: { message: "cancelled" } });
});

test("more jobs than run at once wait, and one that waits can be cancelled", async () => {
  const hold = Promise.withResolvers<void>();
  await serve({ hold: () => hold.promise }, { concurrency: 1 });
  for (const job_id of ["1", "2", "3"]) await submit({ job_id, job_class: "hold" });
  expect((await call("GET", "/job")).body).toMatchObject({
    jobs: [{ status: "running" }, { status: "pending" }, { status: "pending" }],
  });
  expect(await call("DELETE", "/job/2")).toMatchObject({ body: { status: "failed" } });
  hold.resolve();
  await ended("1");
  expect(await ended("3")).toMatchObject({ status: "completed" });
});

test("only the last jobs are remembered", async () => {
  await serve({ echo: ({ input }) => input }, { rememberMax: 2 });
  for (const job_id of ["1", "2", "3"]) {
    await submit({ job_id, job_class: "echo" });
    await ended(job_id);
  }
  expect((await call("GET", "/job/1")).status).toBe(404);
  expect((await call("GET", "/job/2")).status).toBe(200);
});

test("a stop lets jobs end and their end be read, and takes no more", async () => {
  const hold = Promise.withResolvers<string>();
  await serve({ hold: () => hold.promise });
  expect(await call("GET", "/health/ready")).toMatchObject({ status: 200 });
  await submit({ job_id: "1", job_class: "hold" });
  const stopped = server!.stop();
  expect(await call("GET", "/health/ready")).toMatchObject({ status: 503 });
  expect(await submit({ job_id: "2", job_class: "hold" })).toMatchObject({ status: 503 });
  hold.resolve("done");
  expect(await ended("1")).toMatchObject({ result: "done" });
  await stopped;
  await expect(call("GET", "/health")).rejects.toThrow();
});

test("the classes can be asked for, and nothing else is there", async () => {
  await serve({ "a.v1": () => 1, "b.v1": () => 2 });
  expect((await call("GET", "/job-classes")).body).toEqual({ job_classes: ["a.v1", "b.v1"] });
  expect((await call("GET", "/health")).status).toBe(200);
  expect((await call("PUT", "/job")).status).toBe(404);
});

test("an invalid port is refused", async () => {
  await expect(serveJobs({}, { port: Number.NaN })).rejects.toThrow("port: NaN is not a port");
});

test("a job whose input is still checked when the server stops is refused", async () => {
  const checking = Promise.withResolvers<void>();
  const checked = Promise.withResolvers<void>();
  let calls = 0;
  const slow = z.unknown().refine(async () => {
    checking.resolve();
    await checked.promise;
    return true;
  });
  await serve({ slow: withSchema(slow, () => ++calls) });
  const submitted = submit({ job_id: "late", job_class: "slow", job_input: 1 });
  await checking.promise;
  const stopped = server!.stop();
  checked.resolve();
  expect(await submitted).toMatchObject({ status: 503, body: { error: { code: "STOPPING" } } });
  await stopped;
  expect(calls).toBe(0);
});

test("O-21 an exception leaves its trace in the job's stderr; a refused input does not", async () => {
  const fault = (code: string) => Object.assign(new Error("too wide"), { code });
  await serve({
    fail: ({ input }) => {
      throw fault(String(input));
    },
  });
  for (const code of ["INVALID_INPUT", "OTHER"]) {
    const log = join(dir, `${code}.log`);
    await submit({ job_id: code, job_class: "fail", job_input: code, job_log_err: log });
    await ended(code);
    const trace = existsSync(log) ? readFileSync(log, "utf8") : "";
    if (code === "INVALID_INPUT") expect(trace).toBe("");
    else expect(trace).toMatch(/^Error: too wide\n +at .*serve-jobs\.test/s);
  }
});
