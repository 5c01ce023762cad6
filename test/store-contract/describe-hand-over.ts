import { describe, expect, it } from "vitest";
import { plainWorker } from "../../src/core/jobs/queue-key.testing.ts";
import type { WorkerFacts } from "../../src/core/jobs/queue-key.ts";
import { origin } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

export function describeHandOver(create: () => StoreUnderTest): void {
  describe("a claim that waits", () => {
    const scene = useScene(create);

    type Waiting = { max?: number; worker?: Partial<WorkerFacts> };

    /** Registers the worker, and claims for it when there is nothing. */
    async function park(parkAs: string, workerId: string, { max = 4, worker = {} }: Waiting = {}) {
      await scene().register({ id: workerId });
      const input = { ...scene().claimInput(max), workerId, worker: { ...plainWorker, ...worker }, parkAs };
      expect((await scene().store.claimJobs(input)).claimed).toEqual([]);
      scene().notices = [];
    }

    /** Which jobs went to which claims, by the last notice; and how many wake somebody else. */
    function lastNotice() {
      const { handedOver, ready } = scene().notices.at(-1)!;
      const jobs = handedOver.map(({ claimId, claimed }) => [claimId, claimed.map(({ job }) => job.id)]);
      return { jobs, left: ready.reduce((sum, { count }) => sum + count, 0) };
    }

    const refusals: [string, () => Promise<unknown>][] = [
      ["is blocked", () => setWorker({ blocked: true })],
      ["drains", () => setWorker({ draining: true })],
      [
        "was removed",
        () => scene().store.removeWorker({ workerId: "w1", rules: scene().rules, origin, by: "worker" }),
      ],
    ];
    const setWorker = (set: object) =>
      scene().store.setWorker({ workerId: "w1", set, nowMs: scene().nowMs, origin });

    for (const [what, change] of refusals) {
      it(`is handed nothing when its worker ${what} meanwhile`, async () => {
        await park("c1", "w1");
        await change();
        const id = await scene().submit();
        expect(lastNotice()).toEqual({ jobs: [], left: 1 });
        expect(await scene().job(id)).toMatchObject({ status: "pending", attempt: 0 });
      });
    }

    it("O-17 leaves its call in the events of the jobs that it is given, at once or later", async () => {
      const call = { ...origin, userId: "fleet", userAgent: "worker/1", endpoint: "/jobs/claim" };
      await scene().register({ id: "w1" });
      const claim = (parkAs: string) => ({ ...scene().claimInput(1), origin: call, parkAs });
      const first = await scene().submit();
      expect((await scene().store.claimJobs(claim("c1"))).claimed).toHaveLength(1);
      expect((await scene().store.claimJobs(claim("c2"))).claimed).toEqual([]);
      const second = await scene().submit();
      expect(lastNotice()).toEqual({ jobs: [["c2", [second]]], left: 0 });
      const events = await scene().store.readEvents({ afterSeq: 0, kinds: ["JOB_ASSIGNED"], limit: 9 });
      expect(events).toMatchObject([
        { jobId: first, origin: call },
        { jobId: second, origin: call },
      ]);
    });

    const nowMs = () => scene().nowMs;
    const holds: [string, () => Promise<unknown>][] = [
      [
        "of a paused type",
        () => scene().store.setQueuePaused({ type: "build", paused: true, nowMs: nowMs(), origin }),
      ],
      [
        "of a tenant that may run no more",
        () => scene().store.putQuota({ tenantId: "acme", quota: { max_running: 0 }, nowMs: nowMs(), origin }),
      ],
      [
        "of a tenant that is locked",
        () =>
          scene().store.lockTenant({ tenantId: "acme", reason: "r", userId: null, nowMs: nowMs(), origin }),
      ],
      [
        "while the hub is locked",
        () => scene().store.lockDown({ reason: "r", userId: null, nowMs: nowMs(), origin }),
      ],
    ];
    for (const [what, hold] of holds) {
      it(`is handed no job ${what}`, async () => {
        await park("c1", "w1");
        await hold();
        const id = await scene().submit();
        expect(lastNotice().jobs).toEqual([]);
        expect((await scene().job(id)).status).toBe("pending");
      });
    }

    it("is handed no job that it may not run, or that is for later", async () => {
      await park("c1", "w1", { worker: { types: ["test"] } });
      await scene().submit();
      await scene().submit({ type: "test", runAt: nowMs() + 1_000 });
      expect(scene().notices.flatMap(({ handedOver }) => handedOver)).toEqual([]);
    });

    it("is handed nothing after it has left", async () => {
      await park("c1", "w1");
      await scene().store.unparkClaim({ claimId: "c1" });
      await scene().submit();
      expect(lastNotice()).toEqual({ jobs: [], left: 1 });
    });

    it("is leased a job in the transaction that accepts it", async () => {
      await park("c1", "w1");
      scene().nowMs += 5_000;
      const id = await scene().submit();
      expect(scene().notices).toHaveLength(1);
      expect(lastNotice()).toEqual({ jobs: [["c1", [id]]], left: 0 });
      const [given] = scene().notices[0]!.handedOver;
      expect(await scene().eventNames(id)).toEqual(["JOB_CREATED", "JOB_ASSIGNED"]);
      expect(await scene().job(id)).toMatchObject({
        status: "assigned",
        attempt: 1,
        workerId: "w1",
        claimedAt: nowMs(),
      });
      expect(given?.claimed[0]?.leaseToken).toMatch(/^[\w-]{43}$/);
      // It has been answered, so the next job waits for somebody else.
      await scene().submit();
      expect(lastNotice()).toEqual({ jobs: [], left: 1 });
    });

    it("shares the jobs of a batch with others that wait, and leaves what is too much", async () => {
      await park("c1", "w1");
      await park("c2", "w2", { max: 1 });
      const jobs = Array.from({ length: 6 }, () => scene().newJob());
      await scene().submitAll(jobs);
      const ids = jobs.map(({ id }) => id);
      expect(lastNotice()).toEqual({
        jobs: [
          ["c1", ids.slice(0, 3)],
          ["c2", [ids[3]]],
        ],
        left: 2,
      });
    });

    it("gets the job of the highest priority first", async () => {
      await park("c1", "w1", { max: 1 });
      const [low, high] = [scene().newJob({ priority: 1 }), scene().newJob({ priority: 9 })];
      await scene().submitAll([low, high]);
      expect(lastNotice()).toEqual({ jobs: [["c1", [high.id]]], left: 1 });
    });

    it("gets the job of the highest priority first, whatever was claimed just before", async () => {
      await scene().register({ id: "w1" });
      await scene().submitAndClaim({ priority: 5 });
      await park("c1", "w1", { max: 1 });
      const [usual, high] = [scene().newJob({ priority: 5 }), scene().newJob({ priority: 9 })];
      await scene().submitAll([usual, high]);
      expect(lastNotice()).toEqual({ jobs: [["c1", [high.id]]], left: 1 });
      expect((await scene().claimUpTo(2)).claimed.map(({ job }) => job.id)).toEqual([usual.id]);
    });

    it("is handed the job, or woken for it, when somebody else has written to the database", async () => {
      await park("c1", "w1");
      const other = await scene().openAnother();
      await other.setQueuePaused({ type: "other", paused: true, nowMs: nowMs(), origin });
      const id = await scene().submit();
      const { handedOver, ready } = scene().notices.find(({ jobs }) => jobs.includes(id))!;
      const given = handedOver.flatMap(({ claimed }) => claimed.map(({ job }) => job.id));
      expect([...given, ...ready.map(({ count }) => count)]).toHaveLength(1);
    });
  });
}
