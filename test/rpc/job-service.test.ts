import { beforeAll, describe, expect, test } from "vitest";
import { snapshot } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { claimJob, type HeldJob, registerWorker } from "../support/jobs.ts";
import { runCli } from "../support/run-cli.ts";
import { forgeFor } from "./forge-certificate.ts";
import { issueTo, list, rpcHubForAll, type Stub, start, stubFor, stubForAll } from "./rpc-hub.ts";

const codes = { invalid: 3, precondition: 9 };

const hub = rpcHubForAll();
const alice = stubForAll(hub, () => issueTo(hub, "alice", "acme"));
let workerId: string;

beforeAll(async () => {
  workerId = await registerWorker(hub);
});

/** Started and in the hands of a worker; jobs of other tests that wait are ended on the way. */
async function running(stub: Stub, request: Record<string, unknown> = {}): Promise<HeldJob> {
  return begun(await start(stub, request));
}

async function begun(id: string): Promise<HeldJob> {
  for (;;) {
    const held = await claimJob(hub, { workerId, type: "exec" });
    if (held.id !== id) {
      await finish(held, { result: null });
      continue;
    }
    await hub.must("POST", `/jobs/${id}/start`, { token: hub.admin, body: held.fence });
    return held;
  }
}

function finish(job: HeldJob, body: Record<string, unknown>) {
  const how = "result" in body ? "result" : "fail";
  return hub.must("POST", `/jobs/${job.id}/${how}`, { token: hub.admin, body: { ...job.fence, ...body } });
}

describe("a bad request names its field and leaves no job", () => {
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ["no command", { command: [] }, /^command: must name a command/],
    ["an empty command", { command: [""] }, /^command: must name a command/],
    ["a NUL in an argument", { command: ["echo", "a\0b"] }, /^command\[1\]: must not contain a NUL/],
    ["a cpu limit", { limits: { cpu: "-1" } }, /^limits\.cpu: must be cores/],
    ["a memory limit", { limits: { memory: "1T" } }, /^limits\.memory: must be bytes/],
    ["an io class", { limits: { io: "fast" } }, /^limits\.io: must be low/],
    ["too many pids", { limits: { pids: 1_000_000 } }, /^limits\.pids: must be a whole number/],
    ["a network", { limits: { network: "bridge" } }, /^limits\.network: must be host/],
    ["a variable's name", { env: { "A-B": "1" } }, /^env/],
    ["a variable with an endless name", { env: { ["-".repeat(200_000)]: "1" } }, /^env/],
    ["a variable of ours", { env: { JOB_ID: "1" } }, /^env: names that start with JOB_/],
    ["too long a time", { timeout_sec: 4_000_000_000 }, /^timeout_sec: must be/],
    ["too many attempts", { max_attempts: 1000 }, /^max_attempts: must be/],
    ["a tag", { requires: { tags: ["a b"] } }, /^requires\.tags\[0\]: must be/],
    ["too long a key", { idempotency_key: "k".repeat(201) }, /^idempotency_key/],
  ];

  test.each(cases)("%s", async (_name, request, message) => {
    const before = snapshot(hub.home);
    const refusal = await alice.refused("StartJob", { command: ["true"], ...request });
    expect(refusal).toMatchObject({ code: codes.invalid, writCode: "INVALID_ARGUMENT" });
    expect(refusal.details).toMatch(message);
    expect(snapshot(hub.home)).toBe(before);
  });

  test("a page that is none", async () => {
    expect((await alice.refused("ListJobs", { page_token: "x" })).details).toMatch(/^page_token: /);
    expect((await alice.refused("ListJobs", { page_size: 1001 })).details).toMatch(/^page_size: /);
    expect(await alice.refused("ListJobs", { state: 77 })).toMatchObject({ code: codes.invalid });
  });

  test("no id", async () => {
    for (const method of ["GetStatus", "StopJob"]) {
      expect(await alice.refused(method, {})).toMatchObject({ code: codes.invalid });
    }
  });
});

describe("a command", () => {
  test("is a job like any other, with the hub's own defaults", async () => {
    const job_id = await start(alice, { command: ["echo", "hello"], env: { A: "1" }, cwd: "/tmp" });
    const view = (await hub.must("GET", `/jobs/${job_id}`, { token: hub.admin })).json();
    expect(view).toMatchObject({
      tenant_id: "acme",
      user_id: "alice",
      type: "exec",
      run: { kind: "exec", argv: ["echo", "hello"], env: { A: "1" }, cwd: "/tmp" },
      max_attempts: 1,
      timeout_sec: 0,
      limits: { cpu: "500m", memory: "100M", io: "low", pids: 512, network: "host" },
    });
    expect(await alice.call("GetStatus", { job_id })).toMatchObject({
      state: "QUEUED",
      command: ["echo", "hello"],
      limits: { cpu: "500m", memory: "100M", io: "low", pids: 512, network: "host" },
    });
  });

  test("C3: has as many attempts as the client named", async () => {
    const first = await running(alice, { max_attempts: 3 });
    await finish(first, { reason: "late", code: "TIMEOUT" });
    const second = await begun(first.id);
    const answer = await finish(second, { reason: "late", code: "TIMEOUT" });
    expect(answer.json()).toMatchObject({ status: "pending" });
    await finish(await begun(first.id), { result: null });
  });

  test("is started once for the same key, and refused for the same key with another command", async () => {
    const request = { idempotency_key: "once", command: ["a"] };
    const job_id = await start(alice, request);
    expect(await start(alice, request)).toBe(job_id);
    expect(await alice.refused("StartJob", { ...request, command: ["b"] })).toMatchObject({
      code: 6,
      writCode: "IDEMPOTENCY_MISMATCH",
    });
  });

  test("C5: StartJob takes standard input, up to 64 KiB", async () => {
    const { job_id } = await alice.call<{ job_id: string }>("StartJob", {
      command: ["cat"],
      stdin: Buffer.from("hi"),
    });
    const job = (await hub.call("GET", `/jobs/${job_id}`, { token: hub.admin })).json<{ run: unknown }>();
    expect(job.run).toMatchObject({ argv: ["cat"], stdin: "aGk=" });
    const refusal = await alice.refused("StartJob", { command: ["cat"], stdin: Buffer.alloc(65_537) });
    expect(refusal).toMatchObject({ code: codes.invalid, details: expect.stringMatching(/^stdin: .*65536/) });
  });

  const failedWith = (detail: string) => ({ fail_code: "EXECUTION_ERROR", fail_detail: detail });
  const endings: [string, Record<string, unknown>, Record<string, unknown>][] = [
    ["runs", {}, { state: "RUNNING", reason: "", fail_code: "", fail_detail: "" }],
    [
      "exits with 0",
      { result: null, exit_code: 0 },
      { state: "EXITED", exit_code: 0, reason: "", fail_code: "", fail_detail: "" },
    ],
    [
      "exits with 7",
      { code: "WORKER_EXIT_ERROR", exit_code: 7, reason: "exited with code 7" },
      { state: "EXITED", exit_code: 7, reason: "exited with code 7", ...failedWith("WORKER_EXIT_ERROR") },
    ],
    [
      "writes why it exits",
      {
        ...{ code: "WORKER_EXIT_ERROR", exit_code: 7, reason: "exited with code 7" },
        small_output: { stdout: "", stderr: Buffer.from("reading\ndisk full\n").toString("base64") },
      },
      { state: "EXITED", last_line: "disk full", ...failedWith("WORKER_EXIT_ERROR") },
    ],
    [
      "is killed",
      { code: "SIGNALED", exit_code: 139, reason: "killed by SIGSEGV" },
      { state: "FAILED", exit_code: 139, reason: "killed by SIGSEGV", ...failedWith("SIGNALED") },
    ],
    [
      "does not exist",
      { code: "SPAWN_FAILED", exit_code: 127, reason: "command not found: nope" },
      { state: "FAILED", exit_code: 127, reason: "command not found: nope", ...failedWith("SPAWN_FAILED") },
    ],
    [
      "takes too long",
      { code: "TIMEOUT", reason: "ran longer than 1 s" },
      { state: "FAILED", reason: "ran longer than 1 s", fail_code: "TIMEOUT", fail_detail: "" },
    ],
    [
      "says nothing for too long",
      { code: "IDLE_TIMEOUT", reason: "said nothing for 1 s" },
      { state: "FAILED", fail_code: "TIMEOUT", fail_detail: "IDLE_TIMEOUT" },
    ],
  ];

  test.each(endings)("that %s says so", async (_name, ending, status) => {
    const job = await running(alice);
    if (Object.keys(ending).length > 0) await finish(job, ending);
    const seen = await alice.call<Record<string, unknown>>("GetStatus", { job_id: job.id });
    expect(seen).toMatchObject({ ...status, attempt: 1, worker: workerId });
  });
});

describe("stopping", () => {
  test("a job that waits is over at once", async () => {
    const job_id = await start(alice);
    const { status } = await alice.call<{ status: object }>("StopJob", { job_id });
    expect(status).toMatchObject({ job_id, state: "STOPPED", reason: "stopped", fail_code: "CANCELLED" });
    expect(await alice.refused("StopJob", { job_id })).toMatchObject({
      code: codes.precondition,
      writCode: "STATE_CONFLICT",
    });
  });

  test("a job that runs answers when its worker says that it is dead, to everybody who asked", async () => {
    const job = await running(alice);
    const answers = [1, 2].map(() => alice.call<{ status: object }>("StopJob", { job_id: job.id }));
    await eventually("the request to stop", async () => {
      const view = (await hub.must("GET", `/jobs/${job.id}`, { token: hub.admin })).json();
      return view["cancel_requested_at"] !== null;
    });
    expect(await alice.call("GetStatus", { job_id: job.id })).toMatchObject({ state: "RUNNING" });
    await finish(job, { code: "CANCELLED", reason: "stopped" });
    for (const { status } of await Promise.all(answers)) expect(status).toMatchObject({ state: "STOPPED" });
  });

  test("O-20: a job that runs answers when its processes are dead, before all of its output has arrived", async () => {
    const job = await running(alice);
    const answer = alice.call<{ status: object }>("StopJob", { job_id: job.id });
    await eventually("the request to stop", async () => {
      const view = (await hub.must("GET", `/jobs/${job.id}`, { token: hub.admin })).json();
      return view["cancel_requested_at"] !== null;
    });
    const body = { ...job.fence, exit_code: 143 };
    await hub.must("POST", `/jobs/${job.id}/stopped`, { token: hub.admin, body });
    const stopped = { state: "STOPPED", exit_code: 143, reason: "stopped", fail_code: "CANCELLED" };
    expect((await answer).status).toMatchObject({ ...stopped, ended_at: 0 });
    expect(await alice.call("GetStatus", { job_id: job.id })).toMatchObject({ ...stopped, ended_at: 0 });
    const viewOf = async () =>
      (await hub.must("GET", `/jobs/${job.id}`, { token: hub.admin })).json<{ output: object }>();
    expect((await viewOf()).output).toEqual({ stdout: 0, stderr: 0, arriving: true });
    const { stdout } = await runCli("jobctl", ["status", job.id, "--home", hub.home], { env: {} });
    expect(stdout).toContain(
      "stdout 0 bytes, stderr 0 bytes so far; the rest is still arriving from the worker",
    );
    await finish(job, { code: "CANCELLED", reason: "stopped", exit_code: 143 });
    expect((await viewOf()).output).toEqual({ stdout: 0, stderr: 0 });
    const ended = await alice.call<{ ended_at: number }>("GetStatus", { job_id: job.id });
    expect(ended).toMatchObject(stopped);
    expect(ended.ended_at).toBeGreaterThan(0);
  });

  test("a finished job is refused", async () => {
    const job = await running(alice);
    await finish(job, { result: 1 });
    expect(await alice.refused("StopJob", { job_id: job.id })).toMatchObject({ code: codes.precondition });
  });
});

describe("lists", () => {
  test("come in pages without a gap or a repetition", async () => {
    const carol = stubFor(hub, await forgeFor(hub.home, { name: [{ CN: ["carol"] }, { O: ["acme"] }] }));
    const ids: string[] = [];
    for (let made = 0; made < 7; made++) ids.push(await start(carol));
    expect((await list(carol, { page_size: 3 })).map(({ job_id }) => job_id)).toEqual(ids.toReversed());
    carol.close();
  });

  test("can be narrowed to a state, also where one state of ours is a part of several others", async () => {
    const dan = stubFor(hub, await forgeFor(hub.home, { name: [{ CN: ["dan"] }, { O: ["acme"] }] }));
    const stopped = await start(dan);
    await dan.call("StopJob", { job_id: stopped });
    const exited = await running(dan);
    await finish(exited, { code: "WORKER_EXIT_ERROR", exit_code: 3, reason: "exited with code 3" });
    const failed = await running(dan);
    await finish(failed, { code: "SPAWN_FAILED", reason: "command not found" });
    const done = await running(dan);
    await finish(done, { result: 1 });
    const active = await running(dan);
    const queued = await start(dan);
    const idsIn = async (state: string) =>
      (await list(dan, { state, page_size: 2 })).map(({ job_id }) => job_id);
    expect(await idsIn("STOPPED")).toEqual([stopped]);
    expect(await idsIn("FAILED")).toEqual([failed.id]);
    expect(await idsIn("EXITED")).toEqual([done.id, exited.id]);
    expect(await idsIn("RUNNING")).toEqual([active.id]);
    expect(await idsIn("QUEUED")).toEqual([queued]);
    dan.close();
  });
});
