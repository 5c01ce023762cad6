import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { errorOf } from "../support/call-http.ts";
import { snapshot } from "../support/database.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, jobReader, registerWorker, submitJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

const exec = { kind: "exec", argv: ["true"] };

async function submit(body: unknown, token = tokens.alice) {
  return hub.call("POST", "/jobs", { token, body });
}

const view = jobReader(hub);

describe("submitting", () => {
  test("answers 201 with the id, and the job is pending with its defaults", async () => {
    const answer = await submit({ type: "exec", run: exec });
    expect(answer.status).toBe(201);
    expect(answer.json()).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), status: "pending" });
    expect(await view(answer.json<{ id: string }>().id, tokens.alice)).toMatchObject({
      tenant_id: "acme",
      user_id: "alice",
      status: "pending",
      priority: 5,
      max_attempts: 3,
      timeout_sec: 300,
      max_runtime_ms: 300_000,
      execution_location: "LOCAL_MACHINE",
      attempt: 0,
      attempts: 0,
      output: { stdout: 0, stderr: 0 },
    });
  });

  test("works below /api as below /api/v1", async () => {
    const { id } = await submitJob(hub);
    const answer = await hub.call("GET", `//api/jobs/${id}`, { token: hub.admin });
    expect(answer.json<JobView>().id).toBe(id);
  });

  test("takes params of any kind and keeps their numbers as they were written", async () => {
    for (const params of [
      '"text"',
      "null",
      "[]",
      "1.0",
      "-0.0",
      "1e-07",
      '{"b":1.50,"a":{"constructor":1}}',
    ]) {
      const type = freshName("numbers");
      const answer = await submit(`{"type":"${type}","params":${params}}`);
      expect(answer.status, `${params}: ${answer.text}`).toBe(201);
    }
    const { type } = await submitJob(hub, { run: { kind: "handler" }, params: "later" });
    const workerId = await registerWorker(hub);
    await submit(`{"type":"${type}.2","params":{"x":1.0,"y":1}}`);
    const body = { worker_id: workerId, types: [`${type}.2`] };
    const claim = (await hub.must("POST", "/jobs/claim", { token: hub.admin, body })).json<{
      document: string;
    }>();
    expect(claim.document).toContain('"params":{"x":1.0,"y":1}');
  });

  test("rounds max_runtime_ms up, and turns a solver_url into a solver job", async () => {
    const body = {
      type: "s",
      solver_url: "https://x/y",
      solver_checksum: "a".repeat(64),
      max_runtime_ms: 1001,
    };
    const { id } = (await submit({ ...body, params: { n: 1 } })).json<{ id: string }>();
    expect(await view(id)).toMatchObject({
      timeout_sec: 2,
      solver_url: "https://x/y",
      solver_checksum: "a".repeat(64),
      run: { kind: "solver" },
      params: { n: 1 },
    });
  });

  test("allows exec jobs to run for ever", async () => {
    expect((await submit({ type: "exec", run: exec, timeout_sec: 0 })).status).toBe(201);
    expect((await submit({ type: "exec", run: exec, timeout_sec: 604_800 })).status).toBe(201);
  });
});

describe("an idempotency key", () => {
  test("gives the first job again for the same body", async () => {
    const body = { type: "exec", run: exec, idempotency_key: freshName("key") };
    const [first, second] = [await submit(body), await submit(body)];
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.json()).toEqual(first.json());
  });

  test("is a conflict with another body, and changes nothing", async () => {
    const body = { type: "exec", run: exec, idempotency_key: freshName("key") };
    const { id } = (await submit(body)).json<{ id: string }>();
    const before = snapshot(hub.home);
    const answer = await submit({ ...body, priority: 9 });
    expect(answer).toMatchObject({ status: 409, code: "IDEMPOTENCY_MISMATCH" });
    expect(errorOf(answer.text).details).toMatchObject({ job_id: id });
    expect(snapshot(hub.home)).toBe(before);
  });

  test("B14: of a colleague is a conflict that names no job, with the same body or another", async () => {
    const body = { type: "exec", run: exec, idempotency_key: freshName("key") };
    const { id } = (await submit(body, tokens.alice)).json<{ id: string }>();
    for (const tried of [body, { ...body, priority: 9 }]) {
      const answer = await submit(tried, tokens.bob);
      expect(answer).toMatchObject({ status: 409, code: "IDEMPOTENCY_MISMATCH" });
      expect(answer.text).not.toContain(id);
      const batch = await hub.call("POST", "/jobs/batch", { token: tokens.bob, body: { jobs: [tried] } });
      expect(batch).toMatchObject({ status: 409, code: "IDEMPOTENCY_MISMATCH" });
      expect(batch.text).not.toContain(id);
    }
    expect((await submit(body, tokens.alice)).status).toBe(200);
  });

  test("means nothing to another tenant", async () => {
    for (const key of [freshName("key"), `sha256:${"ab".repeat(32)}`]) {
      const body = { type: "exec", run: exec, idempotency_key: key };
      const [ours, theirs] = [await submit(body), await submit({ ...body, priority: 1 }, tokens.eve)];
      expect([ours.status, theirs.status]).toEqual([201, 201]);
      expect(theirs.text).not.toContain(ours.json<{ id: string }>().id);
    }
  });

  test("O-38 is no way to see another tenant's job: its id is taken, and nothing of it is shown", async () => {
    const body = { type: "exec", run: exec, job_id: randomUUID() };
    expect((await submit(body)).status).toBe(201);
    for (const tried of [body, { ...body, priority: 1 }]) {
      const answer = await submit(tried, tokens.eve);
      expect(answer).toMatchObject({ status: 409 });
      // Only what the caller has sent.
      expect(errorOf(answer.text).details).toEqual({ index: 0, job_id: body.job_id });
    }
    expect((await hub.call("GET", `/jobs/${body.job_id}`, { token: tokens.eve })).status).toBe(404);
  });

  test("makes one job of many requests at once", async () => {
    const body = { type: "exec", run: exec, idempotency_key: freshName("key") };
    const answers = await Promise.all(Array.from({ length: 20 }, () => submit(body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
    expect(new Set(answers.map((answer) => answer.json<{ id: string }>().id)).size).toBe(1);
  });

  test("is not needed when the id is given, and an id belongs to one job", async () => {
    const body = { type: "exec", run: exec, job_id: randomUUID() };
    expect([(await submit(body)).status, (await submit(body)).status]).toEqual([201, 200]);
    expect((await submit({ ...body, priority: 1 })).status).toBe(409);
    expect((await submit(body, tokens.eve)).status).toBe(409);
  });
});

describe("a batch", () => {
  test("is accepted whole", async () => {
    const jobs = Array.from({ length: 1000 }, () => ({ type: "exec", run: exec }));
    const answer = await hub.call("POST", "/jobs/batch", { token: tokens.bob, body: { jobs } });
    expect(answer.status).toBe(201);
    const ids = answer.json<{ jobs: { id: string }[] }>().jobs.map(({ id }) => id);
    expect(new Set(ids).size).toBe(1000);
  });

  test("is refused whole when one job is bad, conflicts, or is one too many", async () => {
    const used = { type: "exec", run: exec, idempotency_key: freshName("key") };
    await submit(used);
    const good = { type: "exec", run: exec };
    const before = snapshot(hub.home);
    const refused = async (jobs: unknown[]) =>
      hub.call("POST", "/jobs/batch", { token: tokens.alice, body: { jobs } });
    const bad = await refused([good, { ...good, priority: 11 }]);
    expect(errorOf(bad.text).details?.issues?.[0]?.path).toBe("jobs[1].priority");
    expect(await refused([good, { ...used, priority: 1 }])).toMatchObject({ status: 409 });
    const key = freshName("key");
    const twins = [1, 2].map((priority) => ({ ...good, idempotency_key: key, priority }));
    expect(await refused(twins)).toMatchObject({ status: 409 });
    expect((await refused(Array(1001).fill(good))).status).toBe(400);
    expect((await refused([])).status).toBe(400);
    expect(snapshot(hub.home)).toBe(before);
  });
});

describe("C5: standard input in the document", () => {
  const started = (stdin: string, token = tokens.alice) =>
    hub.call("POST", "/jobs/start", { token, body: { command: ["cat"], stdin } });

  test("C5: is there for its user, hidden from viewers, and asks for a worker that reads it", async () => {
    const id = (await started("aGk=")).json<{ id: string }>().id;
    expect((await view(id, tokens.alice)).run).toMatchObject({ argv: ["cat"], stdin: "aGk=" });
    expect((await view(id, tokens.acmeViewer)).run).toMatchObject({ stdin: "***" });
    await registerWorker(hub, { document_format: 2 });
    const why = (await hub.call("GET", `/jobs/${id}/why`, { token: tokens.alice })).text;
    expect(why).toContain("reads documents up to format 2, and this one has 3");
  });

  test("C5: is refused beyond 64 KiB, and when it is no base64", async () => {
    const most = Buffer.alloc(65_536).toString("base64");
    expect((await started(most)).status).toBe(201);
    for (const stdin of [Buffer.alloc(65_537).toString("base64"), "not base64!", ""]) {
      const refused = await started(stdin);
      expect(refused.status).toBe(400);
      expect(errorOf(refused.text).message).toMatch(/^stdin: /);
    }
  });
});

describe("C8: a refusal names the field, the value and what is allowed", () => {
  test.each([
    [{ priority: 11 }, "priority: must be a whole number from 1 to 10, or 0 for the default; found 11"],
    [
      { limits: { cpu: "abc" } },
      'limits.cpu: must be cores such as 500m, 2 or 1.5, from 10m to 1024, or max; found "abc"',
    ],
    [
      { requires: { tags: ["a b"] } },
      'requires.tags[0]: must be 1 to 100 letters, digits or . _ : / = @ -; found "a b"',
    ],
  ])("C8: %j", async (fields, message) => {
    const refused = await submit({ type: "exec", run: exec, ...fields });
    expect([refused.status, errorOf(refused.text).message]).toEqual([400, message]);
  });

  test.each([
    [[1], "the request: must be a JSON object"],
    ["", "the request: is missing; it must be a JSON object"],
    [{ type: "exec", run: { kind: "exec", argv: ["echo", 1] } }, "run.argv[1]: must be a string; found 1"],
    [{ type: "exec", run: { kind: "exec", argv: "true" } }, 'run.argv: must be a list; found "true"'],
    [{ type: "exec", run: { kind: "exec" } }, "run.argv: is missing; it must be a list"],
  ])("the wrong type of %j is refused in plain words", async (body, message) => {
    const refused = await submit(body);
    expect([refused.status, errorOf(refused.text).message]).toEqual([400, message]);
  });

  test("C8: what may be secret is not repeated", async () => {
    const run = { ...exec, env: { API_KEY: 7 } };
    const refused = await submit({ type: "exec", run, idempotency_key: 5 });
    expect(refused.status).toBe(400);
    expect(refused.text).not.toContain("found");
  });
});
