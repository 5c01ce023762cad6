import { describe, expect, it } from "vitest";
import { failureOf, leaseMs, resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

export function describeEndings(create: () => StoreUnderTest): void {
  describe("a failure", () => {
    const scene = useScene(create);

    it("is never retried when its class says so", async () => {
      const claimed = await scene().submitAndStart();
      expect(await scene().change(claimed, failureOf("INVALID_JOB"))).toMatchObject({
        job: { status: "failed", failReason: "INVALID_JOB", failCode: "INVALID_JOB" },
      });
    });

    it("is retried with a growing delay until the job is quarantined", async () => {
      const first = await scene().submitAndStart();
      expect(await scene().change(first, failureOf("EXECUTION_ERROR"))).toMatchObject({
        job: { status: "pending", runAt: scene().nowMs + 30_000, workerId: null },
      });
      scene().nowMs += 30_000;
      await scene().change(await scene().claim(), failureOf("EXECUTION_ERROR"));
      expect((await scene().job(first.job.id)).runAt).toBe(scene().nowMs + 60_000);
      scene().nowMs += 60_000;
      expect(await scene().change(await scene().claim(), failureOf("EXECUTION_ERROR"))).toMatchObject({
        job: {
          status: "quarantined",
          failReason: "EXECUTION_ERROR_RETRY_EXHAUSTED",
          attempt: 3,
          failHistory: [{ attempt: 1 }, { attempt: 2 }, { attempt: 3 }],
        },
      });
    });

    it("ends a job that was allowed one attempt plainly", async () => {
      const claimed = await scene().submitAndStart({ maxAttempts: 1 });
      const answer = await scene().change(claimed, failureOf("EXECUTION_ERROR"));
      expect(answer).toMatchObject({ job: { status: "failed", failReason: "EXECUTION_ERROR" } });
    });

    it("doubles the time after a timeout", async () => {
      const claimed = await scene().submitAndStart();
      const answer = await scene().change(claimed, failureOf("TIMEOUT"));
      expect(answer).toMatchObject({
        job: { timeoutSec: 600, documentTimeoutSec: 300, runAt: scene().nowMs + 60_000 },
      });
    });

    it("can be put back by a person, but never after a security violation", async () => {
      const claimed = await scene().submitAndStart({ maxAttempts: 1 });
      await scene().change(claimed, failureOf("EXECUTION_ERROR"));
      expect(await scene().changeJob(claimed.job.id, { act: "retry" })).toMatchObject({
        job: { status: "pending", attempt: 1, attempts: 0, failHistory: [{ attempt: 1 }] },
      });
      const again = await scene().claim();
      expect(again.job.attempt).toBe(2);
      await scene().change(again, failureOf("SECURITY_VIOLATION"));
      const refused = await scene().changeJob(claimed.job.id, { act: "retry" });
      expect(refused).toMatchObject({ kind: "refused", code: "STATE_CONFLICT" });
    });
  });

  describe("a cancel", () => {
    const scene = useScene(create);

    it("is refused when the job is over", async () => {
      const claimed = await scene().submitAndStart();
      await scene().change(claimed, resultOf("1"));
      expect(await scene().cancel(claimed.job.id)).toMatchObject({ code: "STATE_CONFLICT" });
    });

    it("ends a waiting job at once", async () => {
      const id = await scene().submit();
      expect(await scene().cancel(id)).toMatchObject({
        job: { status: "failed", failCode: "CANCELLED", failReason: "cancelled" },
      });
      expect(await scene().claimIds(1)).toEqual([]);
    });

    it("is told to the worker once, and a late result is kept as a partial one", async () => {
      const claimed = await scene().submitAndStart();
      scene().notices = [];
      await scene().cancel(claimed.job.id);
      expect((await scene().cancel(claimed.job.id)).kind).toBe("duplicate");
      const signal = { workerId: "w1", jobId: claimed.job.id, signal: "cancel" };
      expect(scene().notices.flatMap(({ signals }) => signals)).toEqual([signal]);
      expect(await scene().change(claimed, resultOf("1"))).toMatchObject({
        job: { status: "failed", failCode: "CANCELLED", result: null, partialResult: "1" },
      });
    });

    it("never lets a failed job run again", async () => {
      const claimed = await scene().submitAndStart();
      await scene().cancel(claimed.job.id);
      const answer = await scene().change(claimed, failureOf("EXECUTION_ERROR"));
      expect(answer).toMatchObject({ job: { status: "failed", failCode: "CANCELLED" } });
    });

    it("ends the job by itself when the worker does not answer", async () => {
      const claimed = await scene().submitAndStart();
      await scene().cancel(claimed.job.id);
      for (let passed = 0; passed < leaseMs; passed += 20_000) {
        scene().nowMs += 20_000;
        await scene().change(claimed, { act: "renew" });
      }
      expect(await scene().reap()).toBe(0);
      scene().nowMs += 5_000;
      expect(await scene().reap()).toBe(1);
      expect(await scene().job(claimed.job.id)).toMatchObject({ status: "failed", failCode: "CANCELLED" });
    });
  });

  describe("reaping", () => {
    const scene = useScene(create);

    it("touches nothing that is not due", async () => {
      await scene().submitAndStart();
      await scene().submit({ queueTtlSec: 100 });
      expect(await scene().reap()).toBe(0);
    });

    it("ends a job that waited too long, unless it was started in time", async () => {
      const started = await scene().submitAndStart({ queueTtlSec: 10 });
      const waiting = await scene().submit({ queueTtlSec: 10 });
      // The hub gives the worker six seconds to report a timeout itself.
      scene().nowMs += 16_000;
      expect(await scene().reap()).toBe(1);
      expect(await scene().job(waiting)).toMatchObject({ status: "failed", failCode: "EXPIRED" });
      expect((await scene().job(started.job.id)).status).toBe("running");
    });

    it("never ends a job as expired that was started and waits for its retry, or was put back", async () => {
      const started = await scene().submitAndStart({ queueTtlSec: 10 });
      await scene().change(started, failureOf("EXECUTION_ERROR"));
      const expired = await scene().submit({ queueTtlSec: 10 });
      // The hub gives the worker six seconds to report a timeout itself.
      scene().nowMs += 16_000;
      expect(await scene().reap()).toBe(1);
      await scene().changeJob(expired, { act: "retry" });
      expect(await scene().reap()).toBe(0);
    });

    const ahead = { facts: { kind: "handler" } };
    const claimAhead = async () =>
      expect((await scene().claimUpTo(1, { handlerTypes: ["build"] })).claimed).toHaveLength(1);

    it("O-48 gives back a job that a silent worker had not started, and charges the fourth time", async () => {
      const id = await scene().submit(ahead);
      for (let lost = 1; lost <= 3; lost++) {
        await claimAhead();
        scene().nowMs += leaseMs;
        expect(await scene().reap()).toBe(1);
        expect(await scene().job(id)).toMatchObject({
          ...{ status: "pending", attempts: 0, attempt: lost, failHistory: [] },
          runAt: scene().nowMs + 5_000,
        });
        scene().nowMs += 5_000;
      }
      await claimAhead();
      scene().nowMs += leaseMs;
      await scene().reap();
      expect(await scene().job(id)).toMatchObject({
        ...{ attempts: 1, failHistory: [{ code: "WORKER_DISCONNECTED" }] },
      });
    });

    it("O-48 charges a job that is allowed one attempt, because it may have begun", async () => {
      const id = await scene().submit({ ...ahead, maxAttempts: 1 });
      await claimAhead();
      scene().nowMs += leaseMs;
      await scene().reap();
      expect(await scene().job(id)).toMatchObject({ status: "failed", failCode: "WORKER_DISCONNECTED" });
    });

    it("takes a job from a worker that is silent and tells it", async () => {
      const claimed = await scene().submitAndClaim();
      scene().notices = [];
      scene().nowMs += leaseMs;
      expect(await scene().reap()).toBe(1);
      expect(await scene().job(claimed.job.id)).toMatchObject({
        status: "pending",
        runAt: scene().nowMs + 15_000,
        failHistory: [{ code: "WORKER_DISCONNECTED", worker_id: "w1" }],
      });
      const signals = scene().notices.flatMap((notice) => notice.signals);
      expect(signals).toEqual([{ workerId: "w1", jobId: claimed.job.id, signal: "lost" }]);
    });

    it("stops a job that runs longer than it may although its worker is alive", async () => {
      const claimed = await scene().submitAndStart({ timeoutSec: 50 });
      scene().nowMs += 40_000;
      await scene().change(claimed, { act: "renew" });
      scene().nowMs += 16_000;
      expect(await scene().reap()).toBe(1);
      expect(await scene().job(claimed.job.id)).toMatchObject({
        status: "pending",
        timeoutSec: 100,
        failHistory: [{ code: "TIMEOUT" }],
      });
    });

    it("says when there is more than it was allowed to do at once", async () => {
      for (let made = 0; made < 3; made++) await scene().submit({ queueTtlSec: 1 });
      scene().nowMs += 1_000;
      const input = { rules: scene().rules, limit: 2 };
      expect(await scene().store.reapJobs(input)).toEqual({ reaped: 2, more: true });
      expect(await scene().store.reapJobs(input)).toEqual({ reaped: 1, more: false });
    });

    it("gives every lease and deadline one more lease after a restart", async () => {
      const claimed = await scene().submitAndStart({ timeoutSec: 10 });
      await scene().reopen();
      scene().nowMs += leaseMs * 10;
      const grace = { nowMs: scene().nowMs, leaseMs };
      expect(await scene().store.graceLeases(grace)).toEqual({ extended: [claimed.job.id] });
      expect(await scene().reap()).toBe(0);
      expect((await scene().change(claimed, resultOf("1"))).kind).toBe("moved");
    });

    it("B1: leaves nothing in the future after a restart with a clock that was set back", async () => {
      await scene().register();
      const claimed = await scene().submitAndStart({ timeoutSec: 100 });
      const stopped = await scene().submitAndStart();
      await scene().cancel(stopped.job.id);
      const waiting = await scene().submit({ queueTtlSec: 90, type: "later" });
      await scene().reopen();
      scene().nowMs -= 3_600_000;
      await scene().store.graceLeases({ nowMs: scene().nowMs, leaseMs });
      const retire = () =>
        scene().store.retireSilentWorkers({ silentSince: scene().nowMs - leaseMs, nowMs: scene().nowMs });
      scene().nowMs += leaseMs - 1;
      expect(await scene().reap()).toBe(0);
      expect(await retire()).toEqual({ retired: [] });
      scene().nowMs += 1;
      expect(await scene().reap()).toBe(2);
      expect(await retire()).toEqual({ retired: ["w1"] });
      expect(await scene().job(claimed.job.id)).toMatchObject({
        failHistory: [{ code: "WORKER_DISCONNECTED" }],
      });
      expect(await scene().job(stopped.job.id)).toMatchObject({ failCode: "CANCELLED" });
      scene().nowMs += 90_000 - leaseMs;
      expect(await scene().reap()).toBe(1);
      expect(await scene().job(waiting)).toMatchObject({ failCode: "EXPIRED" });
    });

    for (const byMs of [3_600_000, -3_600_000]) {
      it(`A5: moves what lasts with the clock when that is set by ${byMs} ms`, async () => {
        await scene().register();
        const claimed = await scene().submitAndStart({ timeoutSec: 100 });
        const waiting = await scene().submit({ queueTtlSec: 90, type: "later" });
        scene().nowMs += byMs;
        expect(await scene().store.shiftTimes({ byMs })).toEqual({ shifted: 2 });
        const retire = () =>
          scene().store.retireSilentWorkers({ silentSince: scene().nowMs - leaseMs, nowMs: scene().nowMs });
        scene().nowMs += leaseMs - 1;
        expect(await scene().reap()).toBe(0);
        expect(await retire()).toEqual({ retired: [] });
        expect((await scene().change(claimed, { act: "renew" })).kind).toBe("moved");
        scene().nowMs += 1;
        expect(await retire()).toEqual({ retired: ["w1"] });
        scene().nowMs += 29_999;
        expect(await scene().reap()).toBe(0);
        scene().nowMs += 1;
        expect(await scene().reap()).toBe(1);
        expect(await scene().job(waiting)).toMatchObject({ failCode: "EXPIRED" });
        // The hub gives the worker six seconds to report a timeout itself.
        scene().nowMs += 16_000;
        expect(await scene().reap()).toBe(1);
        expect(await scene().job(claimed.job.id)).toMatchObject({ failHistory: [{ code: "TIMEOUT" }] });
      });
    }

    it("A5: moves the delay before a retry with the clock, but not the time of day that a producer chose", async () => {
      const runAt = scene().nowMs + 30_000;
      const chosen = await scene().submit({ runAt, type: "chosen" });
      const claimed = await scene().submitAndStart();
      await scene().change(claimed, failureOf("EXECUTION_ERROR"));
      await scene().store.shiftTimes({ byMs: -3_600_000 });
      expect(await scene().job(claimed.job.id)).toMatchObject({ runAt: runAt - 3_600_000 });
      expect(await scene().job(chosen)).toMatchObject({ runAt });
    });

    it("loses what does not come back within that grace", async () => {
      await scene().submitAndStart();
      await scene().reopen();
      scene().nowMs += leaseMs * 10;
      await scene().store.graceLeases({ nowMs: scene().nowMs, leaseMs });
      scene().nowMs += leaseMs;
      expect(await scene().reap()).toBe(1);
    });
  });
}
