import { describe, expect, it } from "vitest";
import { resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

export function describeLife(create: () => StoreUnderTest): void {
  describe("a restart", () => {
    const scene = useScene(create);

    it("refuses calls after the store was closed", async () => {
      await scene().store.close();
      await expect(scene().store.ping()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    });

    it("answers what was asked before the store was closed", async () => {
      const submitted = scene().submit();
      const closed = scene().store.close();
      const id = await submitted;
      await closed;
      await scene().reopen();
      expect((await scene().job(id)).status).toBe("pending");
    });

    it("loses nothing: jobs, leases, counters, queues", async () => {
      const done = await scene().submitAndStart();
      await scene().change(done, resultOf("1"));
      const running = await scene().submitAndStart();
      const waiting = await scene().submit();
      const before = await Promise.all([done.job.id, running.job.id, waiting].map((id) => scene().job(id)));
      const { store } = scene();
      const facts = [await store.ping(), await store.listQueues(), await store.eventRange()];
      await scene().reopen();
      const after = await Promise.all([done.job.id, running.job.id, waiting].map((id) => scene().job(id)));
      expect(after).toEqual(before);
      const again = scene().store;
      expect([await again.ping(), await again.listQueues(), await again.eventRange()]).toEqual(facts);
      expect((await scene().change(running, resultOf("2"))).kind).toBe("moved");
      expect(await scene().claimIds(9)).toEqual([waiting]);
    });

    it("never gives a job's number twice", async () => {
      const done = await scene().submitAndClaim();
      const { seq } = await scene().job(done.job.id);
      await scene().change(done, resultOf("1"));
      const before = scene().nowMs + 1;
      await scene().store.pruneJobs({
        endedBefore: before,
        quarantinedBefore: before,
        limit: 9,
        nowMs: before,
      });
      await scene().reopen();
      expect((await scene().job(await scene().submit())).seq).toBeGreaterThan(seq);
    });

    it("counts jobs by their state", async () => {
      await scene().submitAndStart();
      await scene().submitAndClaim();
      await scene().submit();
      const states = { pending: 1, assigned: 1, running: 1, completed: 0, failed: 0, quarantined: 0 };
      expect((await scene().store.ping()).jobs).toEqual(states);
    });
  });
}
