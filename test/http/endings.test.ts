import { describe, expect, test } from "vitest";
import { sha256Hex } from "../../src/signing/mac.ts";
import { errorOf } from "../support/call-http.ts";
import { readEvents, snapshot } from "../support/database.ts";
import { uploadForJob } from "../support/files.ts";
import { stillEnv } from "../support/hub.ts";
import {
  claimedJob,
  claimJob,
  type HeldJob,
  jobReader,
  registerWorker,
  runningJob,
} from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

function report(
  job: HeldJob,
  act: string,
  fields: Record<string, unknown>,
  headers?: Record<string, string>,
) {
  return hub.call("POST", `/jobs/${job.id}/${act}`, {
    token: tokens.worker,
    body: { ...job.fence, ...fields },
    headers,
  });
}

const view = jobReader(hub);

test("B14: a worker can neither cancel a job nor let it expire", async () => {
  const job = await runningJob(hub);
  for (const code of ["CANCELLED", "EXPIRED"]) {
    const answer = await report(job, "fail", { code, reason: "I say so" });
    expect(answer).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    expect(errorOf(answer.text).message).toContain(`code: only the hub ends a job as ${code}`);
    const { worker_id, ...fence } = job.fence;
    const items = [{ job_id: job.id, ...fence, code, reason: "I say so" }];
    const batch = await hub.must("POST", "/jobs/results", {
      token: tokens.worker,
      body: { worker_id, items },
    });
    expect(batch.json<{ items: object[] }>().items).toMatchObject([{ error: { code: "INVALID_ARGUMENT" } }]);
  }
  expect(await view(job.id)).toMatchObject({ status: "running" });
  await hub.must("DELETE", `/jobs/${job.id}`, { token: hub.admin });
  await report(job, "fail", { code: "CANCELLED", reason: "stopped" });
  expect(await view(job.id)).toMatchObject({ status: "failed", fail_code: "CANCELLED" });
});

describe("a result", () => {
  test("completes the job with all that the worker reports", async () => {
    const job = await runningJob(hub, { output_location: { folder_id: "f" } });
    const isolation = { level: "strict", applied: ["pid"], missing: [] };
    const usage = { cpu_ms: 5, memory_peak_bytes: 6, oom: false };
    const files = [
      await uploadForJob(hub, job, { folderId: "f", objectKey: "k", bytes: Buffer.from("abc") }),
    ];
    const fields = { result: { a: 1.5 }, exit_code: 0, isolation, usage, output_files: files };
    expect((await report(job, "result", fields)).json()).toEqual({ status: "completed" });
    expect(await view(job.id)).toMatchObject({
      status: "completed",
      result: { a: 1.5 },
      exit_code: 0,
      isolation,
      usage,
      output_files: files,
      execution_time_ms: expect.any(Number),
    });
  });

  test("B11: ends what is known of the cgroup, which is shown while the job runs", async () => {
    const job = await claimedJob(hub);
    const isolation = { level: "strict", applied: ["cgroup"], missing: [] };
    const cgroup = `/sys/fs/cgroup/writ/jobs/${job.id}`;
    const started = { ...job.fence, isolation: { ...isolation, cgroup } };
    await hub.must("POST", `/jobs/${job.id}/start`, { token: hub.admin, body: started });
    expect((await view(job.id)).isolation).toEqual({ ...isolation, cgroup });
    await report(job, "result", { result: null });
    expect((await view(job.id)).isolation).toEqual(isolation);
  });

  test("completes a job that was never said to have started", async () => {
    const job = await claimedJob(hub);
    expect((await report(job, "result", { result: null })).json()).toEqual({ status: "completed" });
  });

  test("may be repeated: the same value is a duplicate, with or without its hash and key", async () => {
    const job = await runningJob(hub);
    await report(job, "result", { result: { b: 1, a: 2 } }, { "X-Idempotency-Key": "k1" });
    const before = snapshot(hub.home);
    const repeats = [
      await report(job, "result", { result: { a: 2, b: 1 } }),
      await report(job, "result", { result: { a: 2, b: 1 } }, { "X-Idempotency-Key": "k1" }),
      await report(job, "result", {
        result: { a: 2, b: 1 },
        result_hash: `sha256:${(await view(job.id)).result_hash}`,
      }),
    ];
    for (const repeat of repeats) {
      expect(repeat).toMatchObject({ status: 200 });
      expect(repeat.json()).toEqual({ status: "completed", duplicate: true });
    }
    expect(snapshot(hub.home)).toBe(before);
  });

  test("A16: another one for the same attempt is refused, also under the same key, and recorded once", async () => {
    const job = await runningJob(hub);
    await report(job, "result", { result: { a: 1 } }, { "X-Idempotency-Key": "k1" });
    const before = await view(job.id);
    const keys: Record<string, string>[] = [{ "X-Idempotency-Key": "k1" }, { "X-Idempotency-Key": "k2" }, {}];
    for (const headers of keys) {
      expect(await report(job, "result", { result: { a: 2 } }, headers)).toMatchObject({
        status: 409,
        code: "RESULT_CONFLICT",
      });
    }
    expect(await view(job.id)).toMatchObject({ result: { a: 1 }, result_hash: before.result_hash });
    const recorded = readEvents(hub.home).filter(({ event }) => event === "CONFLICTING_RESULT_REJECTED");
    expect(recorded).toMatchObject([{ job_id: job.id }]);
  });

  test("A16: a result with a wrong hash is refused, alone and in a batch, and the job continues", async () => {
    const job = await runningJob(hub);
    const wrong = { result: { a: 1 }, result_hash: sha256Hex('{"a":2}') };
    const refusal = await report(job, "result", wrong);
    expect(refusal).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    expect(refusal.text).toContain("result_hash");
    const { worker_id, ...fence } = job.fence;
    const items = [{ ...fence, ...wrong, job_id: job.id }];
    const batch = await hub.must("POST", "/jobs/results", {
      token: tokens.worker,
      body: { worker_id, items },
    });
    expect(batch.text).toContain("INVALID_ARGUMENT");
    expect(await view(job.id)).toMatchObject({ status: "running" });
    const right = { result: { a: 1 }, result_hash: sha256Hex('{"a":1}') };
    expect((await report(job, "result", right)).json()).toEqual({ status: "completed" });
    expect((await view(job.id)).result_hash).toBe(right.result_hash);
  });

  test("sent a hundred times at once ends the job once", async () => {
    const job = await runningJob(hub);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => report(job, "result", { result: { n: 1 } })),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(answers.filter((answer) => answer.json()["duplicate"] === true)).toHaveLength(99);
    const endings = readEvents(hub.home).filter(
      ({ job_id: id, event }) => id === job.id && event === "JOB_COMPLETED",
    );
    expect(endings).toHaveLength(1);
  });

  test("of an administrator needs no attempt and no token, but the right worker", async () => {
    const job = await runningJob(hub);
    const send = (workerId: string, token: string) =>
      hub.call("POST", `/jobs/${job.id}/result`, { token, body: { worker_id: workerId, result: 1 } });
    expect(await send(await registerWorker(hub), hub.admin)).toMatchObject({
      status: 409,
      code: "LEASE_LOST",
    });
    expect(await send(job.fence.worker_id, tokens.worker)).toMatchObject({ status: 400 });
    expect((await send(job.fence.worker_id, tokens.acmeAdmin)).status).toBe(403);
    expect((await send(job.fence.worker_id, hub.admin)).json()).toEqual({ status: "completed" });
  });
});

describe("a failure", () => {
  test("is tried again as often as its code allows, then quarantined", async () => {
    const workerId = await registerWorker(hub);
    const first = await runningJob(hub, { workerId, timeout_sec: 100 });
    const again = await report(first, "fail", { reason: "late", code: "IDLE_TIMEOUT", exit_code: 137 });
    expect(again.json()).toEqual({ status: "pending", run_at: expect.any(Number) });
    expect(await view(first.id)).toMatchObject({ timeout_sec: 200, attempts: 1, worker_id: null });
    const second = await claimJob(hub, { workerId, type: first.type });
    const last = await report(second, "fail", { reason: "late again", code: "TIMEOUT" });
    expect(last.json()).toEqual({ status: "quarantined" });
    expect(await view(first.id)).toMatchObject({
      fail_reason: "TIMEOUT_RETRY_EXHAUSTED",
      fail_code: "TIMEOUT",
      fail_history: [
        { code: "TIMEOUT", detail: "IDLE_TIMEOUT", attempt: 1, worker_id: workerId, reason: "late" },
        { code: "TIMEOUT", detail: null, attempt: 2, worker_id: workerId, reason: "late again" },
      ],
    });
  });

  test("C3: is tried again until the attempts that the job asked for are used up, whatever its code", async () => {
    const workerId = await registerWorker(hub);
    const first = await runningJob(hub, { workerId, max_attempts: 5 });
    const answers = [(await report(first, "fail", { reason: "late", code: "TIMEOUT" })).json()];
    for (let attempt = 2; attempt <= 5; attempt++) {
      const again = await claimJob(hub, { workerId, type: first.type });
      answers.push((await report(again, "fail", { reason: "late", code: "TIMEOUT" })).json());
    }
    expect(answers.map((answer) => (answer as { status: string }).status)).toEqual([
      ...Array.from({ length: 4 }, () => "pending"),
      "quarantined",
    ]);
    expect(await view(first.id)).toMatchObject({ attempts: 5, max_attempts: 5 });
  });

  test("counts as EXECUTION_ERROR without a code, and ends a job of one attempt plainly", async () => {
    const job = await runningJob(hub, { max_attempts: 1 });
    const answer = await report(job, "fail", {
      reason: "exit 3",
      exit_code: 3,
      partial_result: { so: "far" },
    });
    expect(answer.json()).toEqual({ status: "failed" });
    expect(await view(job.id)).toMatchObject({
      fail_reason: "EXECUTION_ERROR",
      exit_code: 3,
      partial_result: { so: "far" },
    });
  });

  test("is never tried again when the job itself is at fault, and a violation is on the record", async () => {
    for (const [code, kind] of [
      ["SOLVER_CHECKSUM_MISMATCH", "INVALID_JOB"],
      ["PATH_TRAVERSAL_ATTEMPT", "SECURITY_VIOLATION"],
    ] as const) {
      const job = await runningJob(hub);
      expect((await report(job, "fail", { reason: "refused", code })).json()).toEqual({ status: "failed" });
      expect(await view(job.id)).toMatchObject({ fail_reason: kind, fail_code: kind, fail_detail: code });
      const events = readEvents(hub.home).filter(({ job_id: id }) => id === job.id);
      expect(events.some(({ event }) => event === code)).toBe(kind === "SECURITY_VIOLATION");
    }
  });

  test("repeated after the end changes nothing", async () => {
    const job = await runningJob(hub, { max_attempts: 1 });
    await report(job, "fail", { reason: "once" });
    const before = snapshot(hub.home);
    expect(await report(job, "fail", { reason: "twice" })).toMatchObject({ status: 409, code: "LEASE_LOST" });
    expect(await report(job, "result", { result: 1 })).toMatchObject({ status: 409, code: "LEASE_LOST" });
    expect(snapshot(hub.home)).toBe(before);
  });
});

describe("a release", () => {
  test("gives the job back without charging an attempt, nine times", async () => {
    const workerId = await registerWorker(hub);
    let job = await runningJob(hub, { workerId });
    for (let times = 1; times <= 9; times++) {
      expect((await report(job, "release", { reason: "drain" })).status).toBe(204);
      expect(await view(job.id)).toMatchObject({ status: "pending", attempts: 0, attempt: times });
      job = await claimJob(hub, { workerId, type: job.type });
    }
    await report(job, "release", { reason: "drain" });
    expect((await view(job.id)).fail_history).toMatchObject([{ code: "WORKER_DISCONNECTED", attempt: 10 }]);
  });
});

describe("progress", () => {
  test("is shown while the job runs; a job's own heartbeat starts it", async () => {
    const job = await claimedJob(hub);
    expect((await report(job, "progress", { progress: 12.5, detail: "cloning" })).status).toBe(204);
    expect(await view(job.id)).toMatchObject({
      status: "assigned",
      progress: 12.5,
      progress_detail: "cloning",
    });
    expect((await report(job, "heartbeat", { progress: 50 })).status).toBe(204);
    expect(await view(job.id)).toMatchObject({ status: "running", progress: 50, progress_detail: null });
  });
});

describe("many endings in one call", () => {
  test("are judged one by one", async () => {
    const workerId = await registerWorker(hub);
    const jobs = [];
    for (let index = 0; index < 4; index++) jobs.push(await runningJob(hub, { workerId }));
    const [good, bad, stale, strange] = jobs as [HeldJob, HeldJob, HeldJob, HeldJob];
    const lease = ({ id, fence }: HeldJob) => ({ job_id: id, attempt: fence.attempt, token: fence.token });
    const unknown = "01890000-0000-7000-8000-000000000000";
    const items = [
      { ...lease(good), result: 1 },
      { ...lease(bad), reason: "broke" },
      { ...lease(stale), attempt: 9, result: 1 },
      { ...lease(strange), result: 1, surprise: true },
      { ...lease(good), job_id: unknown, result: 1 },
      "not even an object",
      { ...lease(good), result: 1 },
    ];
    const answer = await hub.must("POST", "/jobs/results", {
      token: tokens.worker,
      body: { worker_id: workerId, items },
    });
    expect(answer.json()).toMatchObject({
      items: [
        { job_id: good.id, status: "completed" },
        { job_id: bad.id, status: "pending", run_at: expect.any(Number) },
        { job_id: stale.id, error: { code: "LEASE_LOST" } },
        { job_id: strange.id, error: { code: "INVALID_ARGUMENT" } },
        { job_id: unknown, error: { code: "NOT_FOUND" } },
        { job_id: null, error: { code: "INVALID_ARGUMENT" } },
        { job_id: good.id, status: "completed", duplicate: true },
      ],
    });
    expect((await view(stale.id)).status).toBe("running");
  });

  test("are at most 256", async () => {
    const items = Array(257).fill({});
    const answer = await hub.call("POST", "/jobs/results", {
      token: tokens.worker,
      body: { worker_id: "w", items },
    });
    expect(errorOf(answer.text).details?.issues?.[0]?.path).toBe("items");
  });
});
