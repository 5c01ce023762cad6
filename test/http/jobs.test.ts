import { describe, expect, test } from "vitest";
import type { EventView, JobView } from "../../src/contract/shapes/view-shapes.ts";
import type { WhyView } from "../../src/contract/why-view.ts";
import { snapshot } from "../support/database.ts";
import { stillEnv, type TestHub } from "../support/hub.ts";
import {
  cancelledJob,
  claimedJob,
  claimJob,
  completedJob,
  failedJob,
  freshName,
  jobReader,
  quarantinedJob,
  registerWorker,
  runningJob,
  submitJob,
} from "../support/jobs.ts";
import { receiptFor, signedRunningJob } from "../support/receipts.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

const view = jobReader(hub);

describe("the list", () => {
  const idsOf = (jobs: JobView[]) => jobs.map(({ id }) => id);

  test("is walked by cursor, newest first, each job once, also while new ones come", async () => {
    const type = freshName("paged");
    const ids: string[] = [];
    for (let index = 0; index < 25; index++)
      ids.push((await submitJob(hub, { token: tokens.alice, type })).id);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const path = `/jobs?type=${type}&limit=10${cursor === undefined ? "" : `&cursor=${cursor}`}`;
      const page = await hub.must("GET", path, { token: tokens.alice });
      seen.push(...idsOf(page.json<JobView[]>()));
      cursor = page.headers["x-next-cursor"] as string | undefined;
      await submitJob(hub, { token: tokens.alice, type });
    } while (cursor !== undefined && seen.length < 100);
    expect(seen).toEqual(ids.reverse());
    const offset = await hub.must("GET", `/jobs?type=${type}&limit=2&offset=5`, { token: tokens.alice });
    expect(idsOf(offset.json<JobView[]>())).toHaveLength(2);
  });

  test("is filtered by status, type and worker, literally", async () => {
    const held = await runningJob(hub, { token: tokens.alice });
    const list = async (query: string) =>
      idsOf((await hub.must("GET", `/jobs?${query}`, { token: tokens.alice })).json<JobView[]>());
    expect(await list(`type=${held.type}`)).toEqual([held.id]);
    expect(await list(`type=${held.type}&status=running`)).toEqual([held.id]);
    expect(await list(`type=${held.type}&status=pending`)).toEqual([]);
    expect(await list(`worker_id=${held.fence.worker_id}`)).toEqual([held.id]);
    expect(await list(`worker_id=${held.fence.worker_id.slice(0, -1)}.`)).toEqual([]);
  });

  test("shows a user its own jobs, a viewer its tenant's, and no caller another tenant's", async () => {
    const type = freshName("whose");
    const ofAlice = (await submitJob(hub, { token: tokens.alice, type })).id;
    const ofBob = (await submitJob(hub, { token: tokens.bob, type })).id;
    const ofEve = (await submitJob(hub, { token: tokens.eve, type })).id;
    const seenBy = async (token: string) =>
      idsOf((await hub.must("GET", `/jobs?type=${type}`, { token })).json<JobView[]>());
    expect(await seenBy(tokens.alice)).toEqual([ofAlice]);
    expect(await seenBy(tokens.eve)).toEqual([ofEve]);
    expect(await seenBy(tokens.acmeViewer)).toEqual([ofBob, ofAlice]);
    expect(await seenBy(tokens.acmeAdmin)).toEqual([ofBob, ofAlice]);
    expect(await seenBy(tokens.viewer)).toEqual([ofEve, ofBob, ofAlice]);
    expect(await seenBy(hub.admin)).toEqual([ofEve, ofBob, ofAlice]);
  });
});

describe("cancelling", () => {
  const cancel = (id: string) => hub.call("DELETE", `/jobs/${id}`, { token: tokens.alice });

  test("ends a pending job at once", async () => {
    const { id } = await submitJob(hub, { token: tokens.alice });
    expect((await cancel(id)).status).toBe(204);
    expect(await view(id)).toMatchObject({
      status: "failed",
      fail_code: "CANCELLED",
      fail_reason: "cancelled",
    });
  });

  test("asks the worker of an assigned or running job, and a late result is kept as a partial one", async () => {
    for (const make of [claimedJob, runningJob]) {
      const { id, fence } = await make(hub, { token: tokens.alice });
      expect((await cancel(id)).status).toBe(202);
      expect((await cancel(id)).status).toBe(202);
      expect((await view(id)).cancel_requested_at).not.toBeNull();
      const body = { ...fence, result: { half: "done" } };
      const ended = await hub.must("POST", `/jobs/${id}/result`, { token: hub.admin, body });
      expect(ended.json()).toEqual({ status: "failed" });
      expect(await view(id)).toMatchObject({
        fail_code: "CANCELLED",
        partial_result: { half: "done" },
        result: null,
      });
    }
  });

  test("never puts a cancelled job back, whatever its worker reports", async () => {
    for (const [act, body] of [
      ["fail", { reason: "killed", code: "TIMEOUT" }],
      ["release", { reason: "drain" }],
    ] as const) {
      const { id, fence } = await runningJob(hub, { token: tokens.alice });
      await cancel(id);
      await hub.must("POST", `/jobs/${id}/${act}`, { token: hub.admin, body: { ...fence, ...body } });
      expect(await view(id), act).toMatchObject({ status: "failed", fail_code: "CANCELLED" });
    }
  });

  test("is a conflict when the job has ended", async () => {
    for (const make of [completedJob, failedJob, quarantinedJob, cancelledJob]) {
      const { id } = await make(hub, { token: tokens.alice });
      const before = snapshot(hub.home);
      expect(await cancel(id), make.name).toMatchObject({ status: 409, code: "STATE_CONFLICT" });
      expect(snapshot(hub.home)).toBe(before);
    }
  });
});

describe("retrying", () => {
  const retry = (id: string) => hub.call("POST", `/jobs/${id}/retry`, { token: tokens.alice });

  test("puts a failed, cancelled or quarantined job back; the fence and the history go on", async () => {
    for (const make of [failedJob, quarantinedJob, cancelledJob]) {
      const { id, type } = await make(hub, { token: tokens.alice });
      const before = await view(id);
      const answer = await retry(id);
      expect(answer, answer.text).toMatchObject({ status: 200 });
      expect(answer.json()).toEqual({ id, status: "pending" });
      const after = await view(id);
      expect(after).toMatchObject({
        attempts: 0,
        attempt: before.attempt,
        fail_code: null,
        completed_at: null,
      });
      expect(after.fail_history).toEqual(before.fail_history);
      const again = await claimJob(hub, { workerId: await registerWorker(hub), type });
      expect(again.fence.attempt).toBe(before.attempt + 1);
    }
  });

  test("is a conflict in every other state, and after a violation of security", async () => {
    const violation = (hub: TestHub, wish: { token: string }) =>
      failedJob(hub, { ...wish, code: "PATH_TRAVERSAL_ATTEMPT" });
    for (const make of [submitJob, claimedJob, runningJob, completedJob, violation]) {
      const { id } = await make(hub, { token: tokens.alice });
      const before = snapshot(hub.home);
      expect(await retry(id), make.name).toMatchObject({ status: 409, code: "STATE_CONFLICT" });
      expect(snapshot(hub.home)).toBe(before);
    }
  });
});

describe("the view of a job", () => {
  test("its environment to its user and administrators, the names alone to viewers", async () => {
    const run = { kind: "exec", argv: ["true"], env: { API_KEY: "hush" } };
    const { id, type } = await submitJob(hub, { token: tokens.alice, run });
    for (const token of [tokens.alice, tokens.acmeAdmin, hub.admin]) {
      expect((await view(id, token)).run).toMatchObject({ env: { API_KEY: "hush" } });
    }
    for (const token of [tokens.viewer, tokens.acmeViewer]) {
      expect((await view(id, token)).run).toMatchObject({ env: { API_KEY: "***" } });
      expect((await hub.must("GET", `/jobs?type=${type}`, { token })).text).not.toContain("hush");
    }
  });

  test("its timeline, in order and by pages", async () => {
    const { id } = await completedJob(hub, { token: tokens.alice });
    const read = async (query = "") =>
      (await hub.must("GET", `/jobs/${id}/events${query}`, { token: tokens.alice })).json<EventView[]>();
    const events = await read();
    const names = ["JOB_CREATED", "JOB_ASSIGNED", "JOB_STARTED", "JOB_COMPLETED"];
    expect(events.map(({ event }) => event)).toEqual(names);
    expect(events.map(({ job_seq: jobSeq }) => jobSeq)).toEqual([1, 2, 3, 4]);
    expect(await read(`?after=${events[1]!.seq}&limit=1`)).toEqual([events[2]]);
  });

  test("its receipt, once there is one", async () => {
    const held = await signedRunningJob(hub, { token: tokens.alice });
    const { id, fence } = held;
    const read = () => hub.call("GET", `/jobs/${id}/receipt`, { token: tokens.alice });
    expect(await read()).toMatchObject({ status: 404, code: "NOT_FOUND" });
    const receipt = await receiptFor(hub, held, { result: null });
    const body = { ...fence, result: null, receipt };
    await hub.must("POST", `/jobs/${id}/result`, { token: hub.admin, body });
    expect((await read()).json()).toMatchObject({ job_id: id, receipt: receipt.text, result: "null" });
  });

  test("the reason why it waits, without workers of other tenants", async () => {
    const stranger = await registerWorker(hub, { token: tokens.globexWorker });
    const shared = await registerWorker(hub, { types: ["something.else"] });
    const { id, type } = await submitJob(hub, { token: tokens.alice, requires: { tags: ["quantum"] } });
    const why = async (of: string) =>
      (await hub.must("GET", `/jobs/${of}/why`, { token: tokens.alice })).json<WhyView>();
    const waiting = await why(id);
    expect(waiting).toMatchObject({ status: "pending", position: 1, held_by: "no_fitting_worker" });
    const judged = new Map(waiting.workers.map((worker) => [worker.worker_id, worker.why]));
    expect(judged.get(shared)).toContain("lacks tag quantum");
    expect(judged.has(stranger)).toBe(false);

    await hub.must("PUT", `/queues/${type}`, { token: hub.admin, body: { paused: true } });
    expect(await why(id)).toMatchObject({ held_by: "paused", paused: true });
    const later = await submitJob(hub, { token: tokens.alice, run_at: Date.now() + 3_600_000 });
    expect(await why(later.id)).toMatchObject({ held_by: "run_at", retry_due_at: expect.any(Number) });
    const { id: running } = await runningJob(hub, { token: tokens.alice });
    expect((await why(running)).summary).toMatch(/runs it/);
  });
});
