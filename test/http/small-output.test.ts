import { expect, test } from "vitest";
import { errorOf } from "../support/call-http.ts";
import { stillEnv } from "../support/hub.ts";
import { type HeldJob, jobReader, runningJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);
const view = jobReader(hub);

const inBase64 = (text: string): string => Buffer.from(text).toString("base64");
const end = async (job: HeldJob, small_output: unknown, more: object = { result: 1 }) =>
  hub.call("POST", `/jobs/${job.id}/${"reason" in more ? "fail" : "result"}`, {
    token: tokens.worker,
    body: { ...job.fence, ...more, small_output },
  });
const read = async (job: HeldJob, path: string) =>
  (await hub.call("GET", `/jobs/${job.id}/output/${path}`, { token: hub.admin })).text;

/** What Prometheus would see. */
const bytesReceived = async (): Promise<number> => {
  const { text } = await hub.must("GET", "//metrics", { token: hub.admin });
  return Number(/^writ_output_bytes_total (\d+)$/m.exec(text)![1]);
};

test.each([
  [{ stdout: "a b" }, "small_output.stdout", "must be base64"],
  [{ stderr: "YQ" }, "small_output.stderr", "must be base64"],
  [
    { stdout: inBase64("x".repeat(20_000)), stderr: inBase64("x".repeat(12_769)) },
    "small_output",
    "at most 32768",
  ],
  [{ stdout: "YQ==", stdin: "YQ==" }, "small_output.stdin", ""],
])("an end with the output %j is refused by the name of the field", async (small, path, why) => {
  const job = await runningJob(hub);
  const refusal = await end(job, small);
  expect(refusal).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
  expect(errorOf(refusal.text)).toMatchObject({ details: { issues: [{ path }] } });
  expect(errorOf(refusal.text).message).toContain(why);
  expect((await view(job.id)).status).toBe("running");
});

test("an attempt that has appended output cannot send some with its end", async () => {
  const job = await runningJob(hub);
  await appendOutput(hub, job, { offset: 0, bytes: Buffer.from("first") });
  const refusal = await end(job, { stdout: inBase64("second") });
  expect(refusal).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
  expect(errorOf(refusal.text).message).toContain("has appended output");
  expect((await end(job, undefined)).status).toBe(200);
  expect(await read(job, "stdout")).toBe("first");
});

test.each([{ result: 1 }, { reason: "exit 3", code: "INVALID_JOB" }])(
  "output that comes with the end %j is read, searched and counted like any other",
  async (more) => {
    const job = await runningJob(hub);
    const receivedBefore = await bytesReceived();
    const following = read(job, "stdout?follow=true&offset=2");
    expect((await end(job, { stdout: inBase64("hello"), stderr: inBase64("oops") }, more)).status).toBe(200);
    expect(await following).toBe("llo");
    expect((await view(job.id)).output).toEqual({ stdout: 5, stderr: 4 });
    expect((await bytesReceived()) - receivedBefore).toBe(9);
    expect(await read(job, "stdout")).toBe("hello");
    expect(await read(job, "stderr?offset=1")).toBe("ops");
    expect(JSON.parse(await read(job, "stdout/search?q=l"))).toMatchObject({ offsets: [2, 3], next: null });
  },
);
