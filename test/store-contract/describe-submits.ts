import { describe, expect, it } from "vitest";
import type { NewJob } from "../../src/core/jobs/job.ts";
import { leaseMs, origin } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

export function describeSubmits(create: () => StoreUnderTest): void {
  describe("submitting", () => {
    const scene = useScene(create);

    it("refuses a whole batch when one job reuses a key for another request", async () => {
      const first = await scene().submit({ idempotencyKey: "k", requestHash: "a" });
      const jobs = [scene().newJob(), scene().newJob({ idempotencyKey: "k", requestHash: "b" })];
      expect(await scene().submitAll(jobs)).toEqual({ kind: "mismatch", index: 1, jobId: first });
      expect(await scene().store.getJob({ jobId: jobs[0]!.id })).toBeNull();
      expect((await scene().store.ping()).jobs.pending).toBe(1);
    });

    it("B14: names no job of another user when the key or the id is taken, even for the same request", async () => {
      const id = await scene().submit({ idempotencyKey: "k", requestHash: "a", userId: "alice" });
      const byKey = { idempotencyKey: "k", requestHash: "a", userId: "bob" };
      const byId = { id, requestHash: "a", userId: "bob" };
      for (const taken of [byKey, byId]) {
        const outcome = await scene().submitAll([scene().newJob(taken)]);
        expect(outcome).toEqual({ kind: "mismatch", index: 0, jobId: null });
      }
    });

    it("refuses a job whose id belongs to another job", async () => {
      const id = await scene().submit();
      const again = scene().newJob({ id, idempotencyKey: "other" });
      expect(await scene().submitAll([again])).toEqual({ kind: "mismatch", index: 0, jobId: id });
    });

    it("refuses a whole batch that would exceed the tenant's quota", async () => {
      await scene().submit();
      const jobs = [scene().newJob(), scene().newJob()];
      expect(await scene().submitAll(jobs, 2)).toEqual({ kind: "over_quota", pending: 1, maxPending: 2 });
      expect((await scene().store.ping()).jobs.pending).toBe(1);
    });

    it("A12: limits in how many queues of a tenant jobs may wait, and counts only those", async () => {
      const { store, nowMs } = scene();
      await store.putQuota({ tenantId: "acme", quota: { max_queues: 2 }, nowMs, origin });
      const ofType = (type: string) => scene().newJob({ type });
      await scene().submit({ type: "a" });
      const refused = { kind: "too_many_queues", waiting: 1, maxQueues: 2 };
      expect(await scene().submitAll([ofType("b"), ofType("c")])).toEqual(refused);
      const repeated = scene().newJob({ type: "b", idempotencyKey: "k", requestHash: "r" });
      expect((await scene().submitAll([repeated, ofType("b"), ofType("a")])).kind).toBe("accepted");
      expect((await scene().submitAll([ofType("c")])).kind).toBe("too_many_queues");
      expect((await scene().submitAll([{ ...ofType("c"), ...named(repeated) }])).kind).toBe("accepted");
      await scene().submit({ type: "c", tenantId: "other" });
      expect(await scene().claimIds(4, { types: ["a", "b"] })).toHaveLength(4);
      expect((await scene().submitAll([ofType("c"), ofType("d")])).kind).toBe("accepted");
      expect((await scene().submitAll([ofType("a")])).kind).toBe("too_many_queues");
    });

    it("limits the queues of a tenant over all stores, also when two of them open one at the same time", async () => {
      const { store, nowMs } = scene();
      const another = await scene().openAnother();
      for (let n = 0; n < 5; n++) {
        const tenantId = `t${n}`;
        await store.putQuota({ tenantId, quota: { max_queues: 1 }, nowMs, origin });
        const outcomes = await Promise.all(
          [store, another].map((one, index) => {
            const jobs = [scene().newJob({ tenantId, type: `type-${index}` })];
            return one.submitJobs({ jobs, maxPending: null, origin });
          }),
        );
        expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["accepted", "too_many_queues"]);
      }
    });

    it("fills the quota to the last job and counts each tenant apart", async () => {
      await scene().submit({ tenantId: "other" });
      const outcome = await scene().submitAll([scene().newJob(), scene().newJob()], 2);
      expect(outcome.kind).toBe("accepted");
      expect((await scene().submitAll([scene().newJob()], 2)).kind).toBe("over_quota");
    });

    it("gives the first job again for the same key and request, even when the quota is used up", async () => {
      const id = await scene().submit({ idempotencyKey: "k", requestHash: "a" });
      const again = scene().newJob({ idempotencyKey: "k", requestHash: "a" });
      expect(await scene().submitAll([again], 1)).toEqual({
        kind: "accepted",
        jobs: [{ id, status: "pending", existed: true }],
      });
      expect((await scene().store.ping()).jobs.pending).toBe(1);
    });

    it("knows a job that was named by its id alone, and refuses another request or tenant under it", async () => {
      const id = scene().newId();
      await scene().submit({ id, requestHash: "a" });
      const again = scene().newJob({ id, requestHash: "a" });
      expect(await scene().submitAll([again], 1)).toEqual({
        kind: "accepted",
        jobs: [{ id, status: "pending", existed: true }],
      });
      for (const other of [
        { requestHash: "b" },
        { requestHash: null },
        { requestHash: "a", tenantId: "other" },
      ]) {
        const outcome = await scene().submitAll([scene().newJob({ id, ...other })]);
        expect(outcome).toEqual({ kind: "mismatch", index: 0, jobId: id });
      }
    });

    it("takes the same key twice within one batch for one job", async () => {
      const job = scene().newJob({ idempotencyKey: "k", requestHash: "a" });
      const twin = scene().newJob({ idempotencyKey: "k", requestHash: "a" });
      expect(await scene().submitAll([job, twin])).toMatchObject({
        jobs: [
          { id: job.id, existed: false },
          { id: job.id, existed: true },
        ],
      });
    });

    it("lets two tenants use the same key", async () => {
      const here = await scene().submit({ idempotencyKey: "k", requestHash: "a" });
      const there = await scene().submit({ tenantId: "other", idempotencyKey: "k", requestHash: "b" });
      expect(there).not.toBe(here);
    });

    it("keeps the document to the byte and the job as it was given", async () => {
      const document = '{"a":"\\u00e9","b":1.0}';
      const id = await scene().submit({ document, priority: 9, queueTtlSec: 60, maxAttempts: 1 });
      const stored = await scene().store.getJob({ jobId: id });
      expect(stored?.document).toBe(document);
      expect(stored?.job).toMatchObject({
        id,
        status: "pending",
        priority: 9,
        queueTtlSec: 60,
        maxAttempts: 1,
        attempt: 0,
        attempts: 0,
        eventCount: 1,
        failHistory: [],
        retryCounts: {},
      });
    });

    it("writes one JOB_CREATED with where it came from", async () => {
      const id = await scene().submit();
      expect(await scene().events(id)).toMatchObject([
        { event: "JOB_CREATED", jobSeq: 1, jobId: id, ownerId: "u1", tenantId: "acme", origin },
      ]);
    });

    it("tells listeners which queue has work, and says nothing of work that is not due", async () => {
      await scene().submit();
      await scene().submit({ runAt: scene().nowMs + leaseMs });
      expect(scene().notices.map(({ ready }) => ready.length)).toEqual([1, 0]);
      expect(scene().notices[0]!.ready[0]).toEqual({ queueKey: scene().newJob().queueKey, count: 1 });
    });
  });
}

/** Another try of the same request. */
function named({ idempotencyKey, requestHash, isKeyChosen }: NewJob): Partial<NewJob> {
  return { idempotencyKey, requestHash, isKeyChosen };
}
