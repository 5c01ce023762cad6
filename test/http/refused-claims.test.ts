import { describe, expect, test } from "vitest";
import { isPaused } from "../../src/store/queues/claim-pause.ts";
import { lastSeq, readEvents } from "../support/database.ts";
import { stillEnv } from "../support/hub.ts";
import { claimedJob, claimJob, freshName, type HeldJob, registerWorker, submitJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { memoryHubForAll } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const detail = "INVALID_SIGNATURE";

type Job = { status: string; attempt: number; attempts: number; fail_code: string | null };

const jobOf = async ({ id }: { id: string }) =>
  (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<Job>();
const workerOf = async (id: string) =>
  (await hub.must("GET", `/workers/${id}`, { token: hub.admin })).json<{
    status: string;
    paused_until: number | null;
  }>();
const claim = (workerId: string, type: string) =>
  hub.call("POST", "/jobs/claim", { token: hub.admin, body: { worker_id: workerId, types: [type] } });

async function heldJobs(count: number): Promise<{ workerId: string; held: HeldJob[] }> {
  const workerId = await registerWorker(hub);
  const type = freshName("type");
  const held: HeldJob[] = [];
  for (let one = 0; one < count; one++) held.push(await claimedJob(hub, { workerId, type }));
  return { workerId, held };
}

function report(workerId: string, held: HeldJob[], token = hub.admin) {
  const jobs = held.map(({ id, fence: { attempt, token } }) => ({ job_id: id, attempt, token }));
  const body = { detail, reason: "the batch has no valid signature", jobs };
  return hub.call("POST", `/workers/${workerId}/refused-claims`, { token, body });
}

/** As workers of version 0.1 report it: each job as a failure. */
function reportEach(workerId: string, held: HeldJob[]) {
  const items = held.map(({ id, fence: { attempt, token } }) => {
    return { job_id: id, attempt, token, code: "SECURITY_VIOLATION", detail, reason: "not authentic" };
  });
  const body = { worker_id: workerId, items };
  return hub.must("POST", "/jobs/results", { token: hub.admin, body });
}

describe("O-10 a worker whose function uses a word of a refused claim for its own error", () => {
  const isolation = { level: "in-process", applied: [], missing: [] };
  test.each([
    ["says how the attempt was isolated", { code: detail, isolation }],
    ["says when it started", { code: "SECURITY_VIOLATION", detail: "REPLAY", started_at: 1 }],
    ["calls it an ordinary failure", { code: "EXECUTION_ERROR", detail: "KEY_NOT_TRUSTED" }],
    ["gives a detail only", { detail }],
  ])("and %s has failed that job, and is given others", async (_, failure) => {
    const { workerId, held } = await heldJobs(1);
    const [{ id, type, fence }] = held as [HeldJob];
    const seq = lastSeq(hub.home);
    const body = { ...fence, reason: "the webhook is not signed", final: true, ...failure };
    await hub.must("POST", `/jobs/${id}/fail`, { token: hub.admin, body });
    expect(await jobOf({ id })).toMatchObject({
      status: "failed",
      fail_code: "EXECUTION_ERROR",
      fail_detail: null,
    });
    expect((await workerOf(workerId)).paused_until).toBeNull();
    expect(readEvents(hub.home, seq).map(({ event }) => event)).not.toContain(detail);
    await submitJob(hub, { type });
    expect((await claim(workerId, type)).status).toBe(200);
  });
});

describe("O-10 a claim that does not verify", () => {
  test("gives its jobs back without charge, once recorded, and others get them at once", async () => {
    const { workerId, held } = await heldJobs(3);
    const seq = lastSeq(hub.home);
    const answer = await report(workerId, held);
    expect(answer.json()).toEqual({ returned: 3, paused_until: expect.any(Number) });
    for (const one of held) expect(await jobOf(one)).toMatchObject({ status: "pending", attempts: 0 });
    const told = readEvents(hub.home, seq).filter(({ event }) => event !== "JOB_RELEASED");
    expect(told).toMatchObject([
      {
        event: detail,
        details: { worker_id: workerId, violation_type: detail, jobs: 3, returned: 3, altered_jobs: [] },
        origin: { method: "POST" },
      },
    ]);
    const other = await registerWorker(hub);
    for (const one of held)
      expect(await claimJob(hub, { workerId: other, type: one.type })).toMatchObject({
        fence: { attempt: 2 },
      });
  });

  test("names the jobs whose documents did not arrive as the hub has them", async () => {
    const { workerId, held } = await heldJobs(2);
    const seq = lastSeq(hub.home);
    const [right, wrong] = held as [HeldJob, HeldJob];
    const { document_sha256 } = (await jobOf(right)) as Job & { document_sha256: string };
    const jobs = [
      { job_id: right.id, attempt: 1, token: right.fence.token, document_sha256 },
      { job_id: wrong.id, attempt: 1, token: wrong.fence.token, document_sha256 },
    ];
    const body = { detail, reason: "x", jobs, unreadable: 1, key_id: "k", signature: "s" };
    await hub.must("POST", `/workers/${workerId}/refused-claims`, { token: hub.admin, body });
    expect(readEvents(hub.home, seq).find(({ event }) => event === detail)!.details).toMatchObject({
      altered_jobs: [wrong.id],
      ...{ unreadable: 1, key_id: "k", signature: "s" },
    });
  });

  test.each([
    ["reported job by job, by a worker of version 0.1", reportEach],
    [
      "claimed and reported one by one",
      (workerId: string, held: HeldJob[]) =>
        Promise.all(
          held.map(({ id, fence }) =>
            hub.must("POST", `/jobs/${id}/fail`, {
              token: hub.admin,
              body: { ...fence, worker_id: workerId, code: detail, reason: "not authentic" },
            }),
          ),
        ),
    ],
  ])("ends no job and counts once when it is %s", async (_how, tell) => {
    const { workerId, held } = await heldJobs(3);
    const seq = lastSeq(hub.home);
    await tell(workerId, held);
    for (const one of held)
      expect(await jobOf(one)).toMatchObject({ status: "pending", attempts: 0, fail_code: null });
    expect(readEvents(hub.home, seq).filter(({ event }) => event === detail)).toHaveLength(1);
    expect(await workerOf(workerId)).toMatchObject({ status: "active", paused_until: expect.any(Number) });
  });

  test("pauses its worker, also when that leaves and registers again, until it is unblocked; why says so", async () => {
    const type = freshName("type");
    const workerId = await registerWorker(hub, { types: [type] });
    await report(workerId, [await claimedJob(hub, { workerId, type })]);
    expect((await claim(workerId, type)).status).toBe(204);
    await hub.must("DELETE", `/workers/${workerId}`, { token: hub.admin });
    await registerWorker(hub, { worker_id: workerId, types: [type] });
    expect((await claim(workerId, type)).status).toBe(204);
    const { paused_until: pausedUntil } = await workerOf(workerId);
    expect(isPaused({ pausedUntil }, Date.now())).toBe(true);
    const { id } = await submitJob(hub, { type });
    const why = (await hub.must("GET", `/jobs/${id}/why`, { token: hub.admin })).json<{
      workers: { worker_id: string; why: string[] }[];
    }>();
    expect(why.workers.find(({ worker_id }) => worker_id === workerId)!.why.join()).toMatch(
      /is given no jobs until .*, because it could not verify a claim/,
    );
    await hub.must("POST", `/workers/${workerId}/unblock`, { token: hub.admin, body: {} });
    expect(await workerOf(workerId)).toMatchObject({ paused_until: null });
    expect((await claim(workerId, type)).status).toBe(200);
  });

  test("is no way to take the job of another worker, or to pause one", async () => {
    const { workerId, held } = await heldJobs(1);
    const { token } = await issueToken(hub, { role: "worker", worker_id: "hostile" });
    await registerWorker(hub, { token, worker_id: "hostile" });
    expect(await report(workerId, held, token)).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
    const stale = { ...held[0]!, fence: { ...held[0]!.fence, token: "x".repeat(43) } };
    expect((await report(workerId, [stale])).json()).toMatchObject({ returned: 0 });
    const thief = await registerWorker(hub);
    expect((await report(thief, held)).json()).toMatchObject({ returned: 0 });
    expect(await jobOf(held[0]!)).toMatchObject({ status: "assigned", attempts: 1 });
  });
});
