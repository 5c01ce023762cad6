import { describe, expect, test } from "vitest";
import type { JobSummary, JobView } from "../../src/contract/shapes/view-shapes.ts";
import { openEventStream } from "../support/event-stream.ts";
import { stillEnv } from "../support/hub.ts";
import { completedJob, failedJob, freshName, quarantinedJob, submitJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

async function list(query: string, token = tokens.alice): Promise<{ jobs: JobSummary[]; next?: string }> {
  const answer = await hub.must("GET", `/jobs?${query}`, { token });
  return { jobs: answer.json<JobSummary[]>(), next: answer.headers["x-next-cursor"] as string | undefined };
}

describe("A6: a list", () => {
  test("has summaries: what is large is null and named, and everything else is there", async () => {
    const type = freshName("large");
    const params = { rows: ["x".repeat(200_000)] };
    const metadata = { note: "m".repeat(600) };
    const { id } = await submitJob(hub, { token: tokens.alice, type, params, metadata, priority: 7 });
    const small = await completedJob(hub, { token: tokens.alice, type: freshName("small") });
    const whole = (await hub.must("GET", `/jobs/${id}`, { token: tokens.alice })).json<JobView>();
    const [job] = (await list(`type=${type}`)).jobs;
    const { params: _, metadata: __, ...rest } = whole;
    expect(job).toMatchObject(rest);
    expect(job).toMatchObject({
      params: null,
      metadata: null,
      cut: ["params", "metadata"],
      command: ["true"],
      last_failure: null,
    });
    const [other] = (await list(`type=${small.type}`)).jobs;
    expect(other).toMatchObject({ result: { answer: 42 }, run: { kind: "exec", argv: ["true"] }, cut: [] });
  });

  test("has the first words of a long command, and the last failure of a long history", async () => {
    const argv = ["solve", ...Array.from({ length: 100 }, (_, index) => `--option-${index}`)];
    const failed = await failedJob(hub, { token: tokens.alice, run: { kind: "exec", argv } });
    const [job] = (await list(`type=${failed.type}`)).jobs;
    expect(job).toMatchObject({ run: null, cut: ["run"], last_failure: { code: "INVALID_JOB" } });
    expect(argv.slice(0, 5)).toEqual(job!.command!.slice(0, 5));
    expect(job!.command!.join(" ").length).toBeLessThan(450);
  });

  test("hides the values of an environment from a viewer as a single job does", async () => {
    const run = { kind: "exec", argv: ["true"], env: { KEY: "secret-value" } };
    const { type } = await submitJob(hub, { token: tokens.alice, run });
    const large = await submitJob(hub, { token: tokens.alice, run, params: "x".repeat(5_000) });
    for (const name of [type, large.type]) {
      expect(JSON.stringify(await list(`type=${name}`))).toContain("secret-value");
      expect(JSON.stringify(await list(`type=${name}`, tokens.acmeViewer))).not.toContain("secret-value");
    }
  });

  test("gives whole jobs when asked, in short pages", async () => {
    const type = freshName("whole");
    const params = "x".repeat(900_000);
    for (let made = 0; made < 6; made++) await submitJob(hub, { token: tokens.alice, type, params });
    const first = await list(`type=${type}&fields=full`);
    expect(first.jobs).toHaveLength(4);
    expect(first.jobs[0]).toMatchObject({ params, cut: [] });
    const second = await list(`type=${type}&fields=full&cursor=${first.next}`);
    expect(second.jobs).toHaveLength(2);
    expect(second.next).toBeUndefined();
    const summaries = await hub.must("GET", `/jobs?type=${type}`, { token: tokens.alice });
    expect(summaries.json<JobSummary[]>()).toHaveLength(6);
    expect(summaries.bytes.length).toBeLessThan(20_000);
    const refused = await hub.call("GET", "/jobs?fields=full&limit=51", { token: tokens.alice });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain("must be at most 50 with fields=full");
  });

  test("is followed without a gap: its events come after it, and none before", async () => {
    const type = freshName("followed");
    const first = await submitJob(hub, { token: tokens.alice, type });
    const answer = await hub.must("GET", `/jobs?type=${type}`, { token: tokens.alice });
    expect(answer.json<JobSummary[]>()).toMatchObject([{ id: first.id }]);
    const second = await submitJob(hub, { token: tokens.alice, type });
    const headers = { "Last-Event-ID": answer.headers["x-last-event-id"] as string };
    const stream = await openEventStream(hub, "/jobs/events", { token: tokens.alice, headers });
    const created = await stream.until("the next job", ({ event }) => event === "job:created");
    expect(created.data).toMatchObject({ id: second.id });
    stream.cut();
  });

  test("has the jobs of some ids, and refuses what is not one", async () => {
    const mine = await submitJob(hub, { token: tokens.alice });
    const theirs = await submitJob(hub, { token: tokens.eve });
    const { jobs } = await list(`ids=${theirs.id},${mine.id}`);
    expect(jobs.map(({ id }) => id)).toEqual([mine.id]);
    for (const ids of ["", "1", `${mine.id},`, Array(101).fill(mine.id).join(",")]) {
      const answer = await hub.call("GET", `/jobs?ids=${ids}`, { token: tokens.alice });
      expect(answer, ids).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
      expect(answer.text).toContain("1 to 100 ids");
    }
  });

  test("finds jobs by label, and bulk acts choose by it", async () => {
    const label = freshName("label");
    const mine = await submitJob(hub, { token: tokens.alice, labels: [label, "every job"] });
    await submitJob(hub, { token: tokens.alice, labels: ["every job"] });
    await submitJob(hub, { token: tokens.eve, labels: [label] });
    const { jobs } = await list(`label=${label}`);
    expect(jobs).toMatchObject([{ id: mine.id, labels: [label, "every job"] }]);
    expect((await list(`label=${label}&status=completed`)).jobs).toEqual([]);
    expect((await list(`label=${label}&count=true`)).jobs).toHaveLength(1);
    for (const query of ["label=", `label=${"x".repeat(101)}`, "schedule=..", "schedule=a/b"])
      expect(await hub.call("GET", `/jobs?${query}`, { token: tokens.alice }), query).toMatchObject({
        status: 400,
        code: "INVALID_ARGUMENT",
      });
    const body = { act: "cancel", filter: { label } };
    const answer = await hub.must("POST", "/jobs/bulk", { token: tokens.alice, body });
    expect(answer.json()).toMatchObject({ matched: 1, done: 1 });
  });

  test("refuses an offset that would have to be counted, and says what to use", async () => {
    const refused = await hub.call("GET", "/jobs?offset=10001", { token: tokens.alice });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain("use cursor beyond that");
  });

  test("finds failed work by state, code, user, time and words", async () => {
    const prefix = freshName("found");
    const failed = await failedJob(hub, { token: tokens.alice, type: `${prefix}-a` });
    const dead = await quarantinedJob(hub, { token: tokens.alice, type: `${prefix}-b` });
    const of = async (query: string, token = tokens.alice) =>
      (await list(`type=${prefix}*&${query}`, token)).jobs.map(({ id }) => id);
    expect(await of("")).toEqual([dead.id, failed.id]);
    expect(await of("status=dead")).toEqual([dead.id]);
    expect(await of("status=failed,dead")).toEqual([dead.id, failed.id]);
    expect(await of("fail_code=INVALID_JOB")).toEqual([failed.id]);
    expect(await of("q=TRU")).toEqual([dead.id, failed.id]);
    expect(await of("q=nowhere")).toEqual([]);
    expect(await of("since=1")).toEqual([dead.id, failed.id]);
    expect(await of("until=1")).toEqual([]);
    expect(await of("user_id=alice", tokens.acmeViewer)).toEqual([dead.id, failed.id]);
    expect(await of("user_id=bob", tokens.acmeViewer)).toEqual([]);
    expect(await of("user_id=bob")).toEqual([]);
    const refused = await hub.call("GET", "/jobs?status=failed,lost", { token: tokens.alice });
    expect(refused.text).toContain("or dead for quarantined; several with commas");
  });
});

test("B10: a list finds a job by a part of its id, for those who may see it", async () => {
  const { id } = await submitJob(hub, { token: tokens.alice });
  const find = async (part: string, token = tokens.alice) =>
    (await list(`id=${part}`, token)).jobs.map((job) => job.id);
  expect(await find(id.slice(-8))).toEqual([id]);
  expect(await find(id.slice(0, 23))).toContain(id);
  expect(await find(id)).toEqual([id]);
  expect(await find(id.slice(-8), tokens.bob)).toEqual([]);
  expect(await find(id.slice(-8), tokens.eve)).toEqual([]);
  const refused = await hub.call("GET", "/jobs?id=12345", { token: tokens.alice });
  expect(refused.text).toContain("must be the first 8 or more, or the last 6 or more, characters of an id");
});

test("a list is filtered by the detail of a failure, and for administrators of the hub by tenant", async () => {
  const type = freshName("narrow");
  const oom = await failedJob(hub, { token: tokens.alice, type, max_attempts: 1, code: "OOM_KILLED" });
  const other = await failedJob(hub, { token: tokens.alice, type, max_attempts: 1, code: "SIGNALED" });
  const foreign = await submitJob(hub, { token: tokens.eve, type });
  const ids = async (query: string, token: string) =>
    (await list(`type=${type}&${query}`, token)).jobs.map(({ id }) => id);
  expect(await ids("fail_code=OOM_KILLED", tokens.alice)).toEqual([oom.id]);
  expect(await ids("fail_code=EXECUTION_ERROR", tokens.alice)).toEqual([other.id, oom.id]);
  expect(await ids("tenant_id=acme", hub.admin)).toEqual([other.id, oom.id]);
  expect(await ids("tenant_id=globex", hub.admin)).toEqual([foreign.id]);
  expect(await ids("tenant_id=globex", tokens.acmeAdmin)).toEqual([]);
  expect(await ids("tenant_id=globex", tokens.alice)).toEqual([]);
  const wrong = await hub.call("GET", "/jobs?fail_code=OOM", { token: tokens.alice });
  expect(wrong).toMatchObject({ status: 400 });
  expect(wrong.text).toContain("or a detail: INVALID_SIGNATURE");
});
