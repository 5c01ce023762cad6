import { describe, expect, it } from "vitest";
import type { NewEvent } from "../../src/core/events.ts";
import { resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

export function describeEvents(create: () => StoreUnderTest): void {
  describe("the event log", () => {
    const scene = useScene(create);

    const stale = (jobId: string | null): NewEvent => ({
      event: "STALE_RESULT_REJECTED",
      ts: scene().nowMs,
      tenantId: "acme",
      jobId,
      ownerId: "u1",
      details: { attempt: 1 },
      origin: null,
    });

    it("is empty at first", async () => {
      expect(await scene().store.eventRange()).toEqual({ first: 0, last: 0 });
      expect(await scene().store.readEvents({ afterSeq: 0, limit: 9 })).toEqual([]);
    });

    it("numbers the events of a job without a gap, in order, whichever hub writes them", async () => {
      const claimed = await scene().submitAndStart();
      await scene().submit();
      await scene().store.recordEvents({ events: [stale(claimed.job.id), stale(scene().newId())] });
      await scene().change(claimed, resultOf("1"));
      const events = await scene().events(claimed.job.id);
      expect(events.map(({ event, jobSeq }) => [jobSeq, event])).toEqual([
        [1, "JOB_CREATED"],
        [2, "JOB_ASSIGNED"],
        [3, "JOB_STARTED"],
        [4, "STALE_RESULT_REJECTED"],
        [5, "JOB_COMPLETED"],
      ]);
      expect((await scene().job(claimed.job.id)).eventCount).toBe(5);
      const all = await scene().store.readEvents({ afterSeq: 0, limit: 99 });
      expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1));
      expect(all.filter(({ jobSeq }) => jobSeq === null)).toHaveLength(1);
    });

    it("goes on with the numbers of a job that something was recorded about before it was claimed", async () => {
      const jobId = await scene().submit();
      await scene().store.recordEvents({ events: [stale(jobId)] });
      await scene().claim();
      const events = await scene().events(jobId);
      expect(events.map(({ event, jobSeq }) => [jobSeq, event])).toEqual([
        [1, "JOB_CREATED"],
        [2, "STALE_RESULT_REJECTED"],
        [3, "JOB_ASSIGNED"],
      ]);
    });

    it("says in each event what the job was after it", async () => {
      const claimed = await scene().submitAndStart();
      const [, assigned, started] = await scene().events(claimed.job.id);
      const common = { type: "build", worker_id: "w1", attempt: 1, priority: 5 };
      expect(assigned?.details).toEqual({ ...common, status: "assigned" });
      expect(started?.details).toEqual({ ...common, status: "running" });
    });

    it("is read from any place, filtered by tenant, owner, job and kind", async () => {
      const mine = await scene().submit();
      await scene().submit({ tenantId: "other", userId: "u2" });
      const claimed = await scene().claimUpTo(2);
      expect(claimed.claimed).toHaveLength(2);
      const read = (filter: object) => scene().store.readEvents({ afterSeq: 0, limit: 99, ...filter });
      expect(await read({ afterSeq: 3 })).toHaveLength(1);
      expect(await read({ limit: 2 })).toHaveLength(2);
      expect((await read({ afterSeq: 1, throughSeq: 3 })).map(({ seq }) => seq)).toEqual([2, 3]);
      expect(await read({ tenantId: "acme" })).toHaveLength(2);
      expect(await read({ tenantId: "acme", ownerId: "u2" })).toEqual([]);
      expect(await read({ ownerId: "u2" })).toHaveLength(2);
      expect(await read({ jobId: mine, kinds: ["JOB_ASSIGNED", "JOB_STARTED"] })).toHaveLength(1);
    });

    it("never gives a number twice, even when the newest have been pruned", async () => {
      await scene().submit();
      await scene().submit();
      const prune = (limit: number) => scene().store.pruneEvents({ throughSeq: 2, limit });
      expect(await prune(1)).toEqual({ removed: 1 });
      expect(await scene().store.eventRange()).toEqual({ first: 2, last: 2 });
      expect(await prune(9)).toEqual({ removed: 1 });
      await scene().reopen();
      await scene().submit();
      expect(await scene().store.eventRange()).toEqual({ first: 3, last: 3 });
      expect(await scene().store.pruneEvents({ throughSeq: 2, limit: 9 })).toEqual({ removed: 0 });
    });

    it("is told to listeners by its last number, together with the jobs that moved", async () => {
      const claimed = await scene().submitAndStart();
      scene().notices = [];
      await scene().change(claimed, { act: "renew" });
      expect(scene().notices).toEqual([]);
      await scene().change(claimed, resultOf("1"));
      expect(scene().notices).toEqual([
        {
          lastSeq: 4,
          ready: [],
          handedOver: [],
          signals: [],
          workers: [],
          jobs: [claimed.job.id],
          observed: [expect.anything()],
          isAll: false,
        },
      ]);
    });

    it("tells a listener nothing more once it has left", async () => {
      let heard = 0;
      const leave = scene().store.onCommit(() => heard++);
      await scene().submit();
      leave();
      await scene().submit();
      expect(heard).toBe(1);
    });
  });
}
