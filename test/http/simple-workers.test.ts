import { describe, expect, test } from "vitest";
import type { ClaimedJobBody } from "../../src/contract/shapes/worker-shapes.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, jobReader, registerWorker, submitJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);
const view = jobReader(hub);

/** A worker of one tenant, so that it is given no job of another test. */
async function simpleWorker(fields: Record<string, unknown> = {}) {
  const tag = freshName("tag");
  const simple = { kinds: undefined, handler_types: undefined, tags: [tag], ...fields };
  const workerId = await registerWorker(hub, simple);
  const submit = (job: Record<string, unknown>) =>
    submitJob(hub, { run: undefined, ...job, requires: { tags: [tag] } });
  const claim = (more: Record<string, unknown> = {}) =>
    hub.call("POST", "/jobs/claim", { token: tokens.worker, body: { worker_id: workerId, ...more } });
  return { workerId, submit, claim };
}

const exec = { kind: "exec", argv: ["true"] };
const checksum = "a".repeat(64);
const solver = { solver_url: "https://example.org/solver", solver_checksum: checksum };

describe("O-13: a worker that registered neither kinds nor handler types", () => {
  test.each([
    ["without types", {}],
    ["with an empty list of types", { types: [] }],
  ])(
    "is given plain and solver jobs of every type, but no commands, when it claims %s",
    async (_how, types) => {
      const { submit, claim } = await simpleWorker();
      await submit({ run: exec, priority: 10 });
      const plain = await submit({ params: { n: 1 } });
      const solved = await submit({ ...solver, params: { n: 2 } });
      const claimed = [await claim(types), await claim(types)].map((answer) => answer.json<ClaimedJobBody>());
      expect(claimed.map(({ id }) => id)).toEqual([plain.id, solved.id]);
      expect((await claim(types)).status).toBe(204);
    },
  );

  test("keeps to the types that it registered, or claims", async () => {
    const { submit, claim } = await simpleWorker({ types: ["mine"] });
    await submit({ type: "other" });
    expect((await claim()).status).toBe(204);
    expect((await claim({ types: ["mine"] })).status).toBe(204);
    await submit({ type: "mine" });
    expect((await claim({ types: [] })).json()).toMatchObject({ type: "mine" });
    expect((await claim({ types: ["other"] })).json()).toMatchObject({ type: "other" });
  });

  test("finds the job in the answer, beside what is signed", async () => {
    const { submit, claim } = await simpleWorker();
    const { id, type } = await submit({
      ...{ ...solver, params: { name: "Ada", list: [1, 2.5] }, priority: 7 },
      ...{ max_runtime_ms: 60_000, max_attempts: 4 },
    });
    const job = (await claim()).json<ClaimedJobBody>();
    expect(job).toMatchObject({
      ...{ id, type, status: "assigned", attempt: 1, token: expect.any(String), timeout_sec: 60 },
      ...{ params: { name: "Ada", list: [1, 2.5] }, priority: 7, max_runtime_ms: 60_000 },
      ...{ attempts: 1, max_attempts: 4, created_at: (await view(id)).created_at },
      ...solver,
    });
    expect(JSON.parse(job.document)).toMatchObject({ job_id: id, run: { params: job.params } });
  });

  test("a worker that names kinds, or an empty list of handler types, is treated as before", async () => {
    for (const fields of [{ kinds: ["exec", "handler"] }, { handler_types: [] }]) {
      const { submit, claim } = await simpleWorker(fields);
      await submit({});
      expect((await claim()).status).toBe(204);
      const command = await submit({ run: exec });
      const job = (await claim()).json<ClaimedJobBody>();
      expect(job.id).toBe(command.id);
      expect(job).not.toHaveProperty("params");
      expect(job).not.toHaveProperty("attempts");
    }
  });
});

describe("O-13: a job's own heartbeat after a cancel", () => {
  async function cancelledJob() {
    const { workerId, submit, claim } = await simpleWorker();
    const { id } = await submit({});
    const { attempt, token } = (await claim()).json<ClaimedJobBody>();
    const fence = { worker_id: workerId, attempt, token };
    const say = (act: string, more: object = {}, body: object = fence) =>
      hub.call("POST", `/jobs/${id}/${act}`, { token: tokens.worker, body: { ...body, ...more } });
    expect((await say("heartbeat")).status).toBe(204);
    const renewed = (await view(id)).heartbeat_at;
    expect((await hub.call("DELETE", `/jobs/${id}`, { token: hub.admin })).status).toBe(202);
    return { id, fence, say, renewed };
  }

  test("is answered with CANCELLED and renews the lease, while other calls are as before", async () => {
    const { id, fence, say, renewed } = await cancelledJob();
    expect(await say("heartbeat", { progress: 50 })).toMatchObject({ status: 409, code: "CANCELLED" });
    expect(await view(id)).toMatchObject({ status: "running", progress: 50 });
    expect((await view(id)).heartbeat_at).toBeGreaterThanOrEqual(renewed!);
    expect((await say("start")).status).toBe(204);
    expect((await say("progress", { progress: 60 })).status).toBe(204);
    const stale = { ...fence, token: "t".repeat(32) };
    expect(await say("heartbeat", {}, stale)).toMatchObject({ status: 409, code: "LEASE_LOST" });
  });

  test.each([
    ["result", { result: 1 }, 200],
    ["fail", { reason: "stopped" }, 200],
    ["release", {}, 204],
  ])("accepts the %s that follows, which ends the job as cancelled", async (act, body, status) => {
    const { id, say } = await cancelledJob();
    expect(await say("heartbeat")).toMatchObject({ code: "CANCELLED" });
    expect((await say(act, body)).status).toBe(status);
    expect(await view(id)).toMatchObject({ status: "failed", fail_code: "CANCELLED" });
    expect(await say("heartbeat")).toMatchObject({ status: 409, code: "LEASE_LOST" });
  });
});

describe("O-13: priority 0", () => {
  test("is the default, and the same request as none", async () => {
    const { type } = await submitJob(hub);
    const body = { type, run: exec, idempotency_key: freshName("key") };
    const send = (fields: object) =>
      hub.call("POST", "/jobs", { token: hub.admin, body: { ...body, ...fields } });
    const first = await send({ priority: 0 });
    expect(first.status).toBe(201);
    const { id } = first.json<{ id: string }>();
    expect((await view(id)).priority).toBe(5);
    const again = await send({});
    expect([again.status, again.json<{ id: string }>().id]).toEqual([200, id]);
    expect((await send({ priority: 5 })).status).toBe(409);
    expect((await send({ priority: -1 })).status).toBe(400);
    const batch = { jobs: [{ type, run: exec, priority: 0 }] };
    const { jobs } = (await hub.must("POST", "/jobs/batch", { token: hub.admin, body: batch })).json<{
      jobs: { id: string }[];
    }>();
    expect((await view(jobs[0]!.id)).priority).toBe(5);
  });
});
