import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { freshName, jobReader, registerWorker, submitJob } from "../support/jobs.ts";

/** How often a claim has looked into the store; one that found nothing waits there from then on. */
let looks = 0;
/** What happens before the next look, and after it. */
let beforeLook: (() => Promise<unknown>) | undefined;
let afterLook: (() => Promise<unknown>) | undefined;

/** The reaper makes every claim that waits look again. */
const env = { ...stillEnv, WRIT_REAPER_INTERVAL_MS: "100" };

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub(env, {
    failpoint: async (name) => {
      if (name === "claim.afterCommit") {
        looks++;
        const act = afterLook;
        afterLook = undefined;
        await act?.();
      }
      if (name !== "claim.beforeCommit") return;
      const act = beforeLook;
      beforeLook = undefined;
      await act?.();
    },
  });
});
afterAll(() => hub.stop());

type Claimed = { jobs: { id: string; lease: string }[]; batch: { signature: string } };

/** A claim of a worker that has nothing to do, which the hub keeps waiting. */
async function waitingClaim(workerId: string, type: string) {
  const before = looks;
  const body = { worker_id: workerId, types: [type], max: 4, wait_ms: 60_000 };
  const answer = hub.must("POST", "/jobs/claim-batch", { token: hub.admin, body });
  await eventually("the claim has looked", () => looks > before);
  return { answer };
}

function act(workerId: string, what: string) {
  return hub.must("POST", `/workers/${workerId}/${what}`, { token: hub.admin });
}

describe("a claim that waits", () => {
  test("a waiting claim returns without a job when its worker is drained, and no job is leased to it", async () => {
    const workerId = await registerWorker(hub);
    const type = freshName("drained");
    const { answer } = await waitingClaim(workerId, type);
    await act(workerId, "drain");
    expect((await answer).status).toBe(204);
    const { id } = await submitJob(hub, { type });
    expect(await jobReader(hub)(id)).toMatchObject({ status: "pending", attempt: 0 });
  });

  test("returns when its worker is blocked", async () => {
    const workerId = await registerWorker(hub);
    const { answer } = await waitingClaim(workerId, freshName("blocked"));
    await act(workerId, "block");
    expect((await answer).status).toBe(204);
  });

  test("a waiting claim returns when its worker registers again, because it may run other jobs now", async () => {
    const workerId = await registerWorker(hub);
    const { answer } = await waitingClaim(workerId, freshName("again"));
    const body = { worker_id: workerId, cores: 2, ram_gb: 4, tags: [], types: ["other"] };
    await hub.must("POST", "/workers/register", { token: hub.admin, body });
    expect((await answer).status).toBe(204);
  });

  test("a waiting claim is answered with a new job in the transaction that accepts the job", async () => {
    const workerId = await registerWorker(hub);
    const type = freshName("next");
    const { answer } = await waitingClaim(workerId, type);
    // Its next look is held back: in PostgreSQL, a claim that just looks finds the job by itself, a moment later.
    const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    beforeLook = () => {
      held.resolve();
      return released.promise;
    };
    await held.promise;
    const { id } = await submitJob(hub, { type });
    // Already when the producer has its answer: nothing else has to happen first.
    expect((await jobReader(hub)(id)).status).toBe("assigned");
    released.resolve();
    const { jobs, batch } = (await answer).json<Claimed>();
    expect(jobs.map((job) => job.id)).toEqual([id]);
    expect(JSON.parse(jobs[0]!.lease)).toMatchObject({ job_id: id, attempt: 1, worker_id: workerId });
    expect(batch.signature).toMatch(/^base64:/);
  });

  test("a claim that gets a job just before its next look does not stay in the store", async () => {
    const workerId = await registerWorker(hub);
    const type = freshName("twice");
    const { answer } = await waitingClaim(workerId, type);
    const given = Promise.withResolvers<string>();
    beforeLook = async () => given.resolve((await submitJob(hub, { type })).id);
    const first = await given.promise;
    expect((await answer).json<Claimed>().jobs.map((job) => job.id)).toEqual([first]);
    const { id: second } = await submitJob(hub, { type });
    expect(await jobReader(hub)(second)).toMatchObject({ status: "pending", attempt: 0 });
  });

  test("a claim returns jobs that it was given together with those of its next look", async () => {
    const workerId = await registerWorker(hub);
    const type = freshName("both");
    const { answer } = await waitingClaim(workerId, type);
    const submitted = Promise.withResolvers<string[]>();
    beforeLook = async () => {
      const { id: given } = await submitJob(hub, { type });
      const { id: found } = await submitJob(hub, { type });
      submitted.resolve([given, found]);
    };
    const ids = await submitted.promise;
    const { jobs } = (await answer).json<Claimed>();
    expect(jobs.map((job) => job.id).toSorted()).toEqual(ids.toSorted());
    expect(jobs.map((job) => JSON.parse(job.lease).attempt)).toEqual([1, 1]);
  });

  const claims: [string, (body: object) => Promise<string[]>][] = [
    [
      "for a batch",
      async (body) => {
        const batch = { ...body, max: 1 };
        const answer = await hub.must("POST", "/jobs/claim-batch", { token: hub.admin, body: batch });
        return answer.json<Claimed>().jobs.map((job) => job.id);
      },
    ],
    [
      "for one job",
      async (body) => {
        const answer = await hub.must("POST", "/jobs/claim", { token: hub.admin, body });
        return [answer.json<{ id: string }>().id];
      },
    ],
  ];
  for (const [what, claim] of claims) {
    test(`${what} leaves no more jobs leased than it asked for, however often it was given some`, async () => {
      const workerId = await registerWorker(hub);
      const type = freshName("enough");
      const before = looks;
      const answer = claim({ worker_id: workerId, types: [type], wait_ms: 60_000 });
      await eventually("the claim has looked", () => looks > before);
      const submitted = Promise.withResolvers<string[]>();
      beforeLook = async () => {
        const { id: first } = await submitJob(hub, { type });
        // The look that now follows finds nothing, and the claim waits in the store once more.
        afterLook = async () => submitted.resolve([first, (await submitJob(hub, { type })).id]);
      };
      const [first, second] = (await submitted.promise) as [string, string];
      expect(await answer).toEqual([first]);
      const jobOf = jobReader(hub);
      expect(await jobOf(first)).toMatchObject({ status: "assigned", attempt: 1 });
      expect(await jobOf(second)).toMatchObject({ status: "pending", attempts: 0 });
    });
  }

  test("a claim loses no job that arrives while it leaves", async () => {
    const workerId = await registerWorker(hub);
    const type = freshName("leaving");
    const given = new Set<string>();
    const submitted: string[] = [];
    for (let round = 0; round < 60; round++) {
      const body = { worker_id: workerId, types: [type], max: 4, wait_ms: 1 + (round % 5) };
      const claim = hub.must("POST", "/jobs/claim-batch", { token: hub.admin, body });
      const [answer, { id }] = await Promise.all([claim, submitJob(hub, { type })]);
      submitted.push(id);
      const jobs = answer.status === 204 ? [] : answer.json<Claimed>().jobs;
      for (const job of jobs) given.add(job.id);
    }
    const jobs = await Promise.all(submitted.map((id) => jobReader(hub)(id)));
    for (const job of jobs) {
      // Leased to the worker and told to it, or free for the next claim: never the one without the other.
      const expected = given.has(job.id) ? "assigned" : "pending";
      expect([job.id, job.status]).toEqual([job.id, expected]);
    }
    expect(given.size).toBeGreaterThan(0);
  });
});
