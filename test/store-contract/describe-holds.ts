import { describe, expect, it } from "vitest";
import { failureOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

const hourMs = 3_600_000;

/** A person holds a job that waits, and resumes it. Why: ADR 0136. */
export function describeHolds(create: () => StoreUnderTest): void {
  describe("a held job", () => {
    const scene = useScene(create);
    const hold = (id: string) => scene().changeJob(id, { act: "hold" });
    const resume = (id: string) => scene().changeJob(id, { act: "resume" });

    it("is refused to be held when a worker has it, or when it has ended", async () => {
      const claimed = await scene().submitAndClaim();
      expect(await hold(claimed.job.id)).toMatchObject({ kind: "refused", code: "STATE_CONFLICT" });
      expect(await resume(claimed.job.id)).toMatchObject({ kind: "refused", code: "STATE_CONFLICT" });
      const ended = await scene().submit();
      await scene().cancel(ended);
      expect(await hold(ended)).toMatchObject({ kind: "refused", code: "STATE_CONFLICT" });
    });

    it("is given to no worker, also after a restart, and others are", async () => {
      const held = await scene().submit({ priority: 9 });
      expect(await hold(held)).toMatchObject({ kind: "moved", job: { heldAt: scene().nowMs } });
      const other = await scene().submit();
      await scene().reopen();
      expect(await scene().claimIds(5)).toEqual([other]);
      scene().nowMs += hourMs;
      await scene().store.promoteJobs({ nowMs: scene().nowMs, limit: 10 });
      expect(await scene().claimIds(5)).toEqual([]);
      expect(await resume(held)).toMatchObject({ kind: "moved", job: { heldAt: null, status: "pending" } });
      expect(await scene().claimIds(5)).toEqual([held]);
      expect(await scene().eventNames(held)).toEqual([
        "JOB_CREATED",
        "JOB_HELD",
        "JOB_RESUMED",
        "JOB_ASSIGNED",
      ]);
    });

    it("stays as it is when it is held or resumed a second time", async () => {
      const id = await scene().submit();
      await hold(id);
      expect((await hold(id)).kind).toBe("duplicate");
      await resume(id);
      expect((await resume(id)).kind).toBe("duplicate");
      expect(await scene().eventNames(id)).toEqual(["JOB_CREATED", "JOB_HELD", "JOB_RESUMED"]);
    });

    it("is not resumed by the end of its delay, and waits for that when it is resumed before", async () => {
      const id = await scene().submit({ runAt: scene().nowMs + hourMs });
      await hold(id);
      scene().nowMs += 1_000;
      await resume(id);
      expect(await scene().claimIds(5)).toEqual([]);
      await hold(id);
      scene().nowMs += hourMs;
      expect(await scene().claimIds(5)).toEqual([]);
      await resume(id);
      expect(await scene().claimIds(5)).toEqual([id]);
    });

    it("can be held while it waits for its retry", async () => {
      const first = await scene().submitAndStart();
      await scene().change(first, failureOf("EXECUTION_ERROR"));
      await hold(first.job.id);
      scene().nowMs += hourMs;
      expect(await scene().claimIds(5)).toEqual([]);
      await resume(first.job.id);
      expect((await scene().claim()).job).toMatchObject({ id: first.job.id, attempt: 2 });
    });

    it("does not expire by queue_ttl_sec, which counts anew once it is resumed", async () => {
      const id = await scene().submit({ queueTtlSec: 60 });
      await hold(id);
      scene().nowMs += hourMs;
      expect(await scene().reap()).toBe(0);
      await resume(id);
      scene().nowMs += 59_000;
      expect(await scene().reap()).toBe(0);
      scene().nowMs += 2_000;
      expect(await scene().reap()).toBe(1);
      expect(await scene().job(id)).toMatchObject({ status: "failed", failCode: "EXPIRED" });
    });

    it("ends by finish_within_sec and by a cancel, and is not held when it is retried", async () => {
      const late = await scene().submit({ terms: '{"finish_within_sec":60}' });
      const cancelled = await scene().submit();
      await hold(late);
      await hold(cancelled);
      await scene().cancel(cancelled);
      scene().nowMs += hourMs;
      expect(await scene().reap()).toBe(1);
      expect(await scene().job(late)).toMatchObject({ failCode: "EXPIRED", heldAt: null });
      await scene().changeJob(cancelled, { act: "retry" });
      expect(await scene().claimIds(5)).toEqual([cancelled]);
    });

    it("is in the list of pending jobs, and counted as one", async () => {
      const id = await scene().submit({ runAt: scene().nowMs + hourMs });
      await hold(id);
      const listed = async (pendingPart?: "waiting" | "scheduled") => {
        const filter = { limit: 9, statuses: ["pending" as const] };
        const found = await scene().store.listJobs(pendingPart ? { ...filter, pendingPart } : filter);
        return found.jobs.map(({ job }) => [job.id, job.heldAt]);
      };
      expect(await listed()).toEqual([[id, scene().nowMs]]);
      expect(await listed("waiting")).toEqual([[id, scene().nowMs]]);
      expect(await listed("scheduled")).toEqual([]);
      expect((await scene().store.ping()).jobs.pending).toBe(1);
      expect(await scene().store.getQueuePosition({ jobId: id })).toMatchObject({ ahead: 0 });
    });

    it("is damaged when its row says that it is not held", async () => {
      const id = await scene().submit();
      await hold(id);
      expect((await scene().store.getJob({ jobId: id, isCompared: true }))!.damaged).toEqual([]);
      await scene().under.tamper.editEnd(id, { heldAt: null });
      expect((await scene().store.getJob({ jobId: id, isCompared: true }))!.damaged).toEqual(["state"]);
    });
  });
}
