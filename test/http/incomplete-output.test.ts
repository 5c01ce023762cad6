import { mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { jobOutputDir, outputPath } from "../../src/output/folder/output-path.ts";
import { errorOf } from "../support/call-http.ts";
import { snapshot, tamperWith } from "../support/database.ts";
import { stillEnv } from "../support/hub.ts";
import { claimJob, type HeldJob, jobReader, registerWorker, runningJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);
const view = jobReader(hub);

describe("an end that tells of more output than the hub has", () => {
  test.each([
    ["result", { result: 1 }],
    ["fail", { reason: "exit 3", exit_code: 3 }],
  ])("is refused as a %s, changes nothing, and is taken when the rest has come", async (act, says) => {
    const job = await saying({ stdout: "hello", stderr: "oops" });
    cut(job, "stdout", 2);
    const before = snapshot(hub.home);
    const told = { ...says, output: { stdout: 5, stderr: 4 } };
    const refusal = await end(job, act, told);
    expect(refusal).toMatchObject({ status: 409, code: "OUTPUT_INCOMPLETE" });
    expect(errorOf(refusal.text)).toMatchObject({
      message: expect.stringContaining("2 of 5 bytes of stdout and 4 of 4 bytes of stderr"),
      details: { output: { stdout: 2, stderr: 4 } },
    });
    expect(snapshot(hub.home)).toBe(before);
    expect((await view(job.id)).status).toBe("running");

    await appendOutput(hub, job, { offset: 2, bytes: Buffer.from("llo") });
    expect((await end(job, act, told)).status).toBe(200);
    expect(await outputOf(job)).toBe("hello");
  });

  test("is refused alone: the others of its batch are taken", async () => {
    const workerId = await registerWorker(hub);
    const cutShort = await saying({ stdout: "hello" }, workerId);
    const whole = await saying({ stdout: "hello" }, workerId);
    const silent = await runningJob(hub, { workerId });
    cut(cutShort, "stdout", 0);
    const output = { stdout: 5, stderr: 0 };
    const items = [
      { ...lease(cutShort), result: 1, output },
      { ...lease(whole), result: 1, output },
      { ...lease(silent), result: 1, output: { stdout: 0, stderr: 0 } },
      { ...lease(silent), result: 1, output: { stdout: 0 } },
    ];
    expect(await batch(workerId, items)).toMatchObject([
      {
        job_id: cutShort.id,
        error: { code: "OUTPUT_INCOMPLETE", details: { output: { stdout: 0, stderr: 0 } } },
      },
      { job_id: whole.id, status: "completed" },
      { job_id: silent.id, status: "completed" },
      {
        job_id: silent.id,
        error: { code: "INVALID_ARGUMENT", details: { issues: [{ path: "output.stderr" }] } },
      },
    ]);
    expect((await view(cutShort.id)).status).toBe("running");
  });

  test("is refused to an administrator too, who means the current attempt without naming it", async () => {
    const job = await saying({ stdout: "hello" });
    const body = { worker_id: job.fence.worker_id, result: 1 };
    const send = (stdout: number) =>
      hub.call("POST", `/jobs/${job.id}/result`, {
        token: hub.admin,
        body: { ...body, output: { stdout, stderr: 0 } },
      });
    expect(await send(6)).toMatchObject({ status: 409, code: "OUTPUT_INCOMPLETE" });
    expect((await send(5)).status).toBe(200);
  });

  test("does not hide that it speaks for an attempt which is over", async () => {
    const workerId = await registerWorker(hub);
    const first = await saying({ stdout: "hello" }, workerId);
    await end(first, "fail", { reason: "no" });
    const second = await claimJob(hub, { workerId, type: first.type });
    const told = { result: 1, output: { stdout: 99, stderr: 0 } };
    expect(await end(first, "result", told)).toMatchObject({ status: 409, code: "LEASE_LOST" });
    expect(await end(second, "result", told)).toMatchObject({ status: 409, code: "OUTPUT_INCOMPLETE" });
    const wrongToken = { ...second, fence: { ...second.fence, token: "x".repeat(32) } };
    expect(await end(wrongToken, "result", told)).toMatchObject({ status: 409, code: "LEASE_LOST" });
  });
});

describe("the sizes at the end", () => {
  test("may be left out, and may be less than the hub has", async () => {
    const unsaid = await saying({ stdout: "hello" });
    expect((await end(unsaid, "result", { result: 1 })).status).toBe(200);
    const less = await saying({ stdout: "hello" });
    expect((await end(less, "result", { result: 1, output: { stdout: 3, stderr: 0 } })).status).toBe(200);
  });

  test("do not matter to a repeat whose output has made room for others", async () => {
    const job = await saying({ stdout: "hello" });
    const told = { result: 1, output: { stdout: 5, stderr: 0 } };
    await end(job, "result", told);
    rmSync(jobOutputDir(join(hub.home, "outputs"), job.id), { recursive: true });
    await tamperWith(hub.home).dropOutput(job.id);
    expect((await end(job, "result", told)).json()).toEqual({ status: "completed", duplicate: true });
    expect(await end(job, "result", { ...told, result: 2 })).toMatchObject({ code: "RESULT_CONFLICT" });
  });

  test("of an attempt without output cause no read of the disk", async () => {
    const job = await runningJob(hub);
    // A look here would be answered that it is no folder.
    const dir = jobOutputDir(join(hub.home, "outputs"), job.id);
    mkdirSync(dirname(dir), { recursive: true });
    writeFileSync(dir, "");
    const one = { stdout: 1, stderr: 0 };
    expect(await end(job, "result", { result: 1, output: one })).toMatchObject({
      code: "OUTPUT_UNAVAILABLE",
    });
    expect((await end(job, "result", { result: 1, output: { stdout: 0, stderr: 0 } })).status).toBe(200);
  });
});

async function saying(said: { stdout?: string; stderr?: string }, workerId?: string): Promise<HeldJob> {
  const job = await runningJob(hub, { workerId: workerId ?? (await registerWorker(hub)) });
  for (const [stream, text] of Object.entries(said)) {
    const answer = await appendOutput(hub, job, { stream, bytes: Buffer.from(text) });
    expect(answer.status, answer.text).toBe(200);
  }
  return job;
}

/** As after a power cut: the file is shorter than what the hub had answered for. */
function cut(job: HeldJob, stream: "stdout" | "stderr", bytes: number): void {
  truncateSync(outputPath(join(hub.home, "outputs"), job.id, job.fence.attempt, stream), bytes);
}

function end(job: HeldJob, act: string, says: Record<string, unknown>) {
  return hub.call("POST", `/jobs/${job.id}/${act}`, {
    token: tokens.worker,
    body: { ...job.fence, ...says },
  });
}

function lease({ id, fence: { attempt, token } }: HeldJob) {
  return { job_id: id, attempt, token };
}

async function batch(workerId: string, items: unknown[]): Promise<unknown[]> {
  const body = { worker_id: workerId, items };
  const answer = await hub.must("POST", "/jobs/results", { token: tokens.worker, body });
  return answer.json<{ items: unknown[] }>().items;
}

async function outputOf(job: HeldJob): Promise<string> {
  const path = `/jobs/${job.id}/output/stdout?attempt=${job.fence.attempt}`;
  return (await hub.must("GET", path, { token: hub.admin })).text;
}
