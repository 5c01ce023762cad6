import { describe, expect, it } from "vitest";
import { failureOf, fenceOf, leaseMs, resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

const lost = { kind: "refused", code: "LEASE_LOST" };

export function describeAttempts(create: () => StoreUnderTest): void {
  describe("the fence", () => {
    const scene = useScene(create);

    it("knows no job that is not there", async () => {
      expect(await scene().cancel(scene().newId())).toEqual({ kind: "unknown" });
    });

    it("refuses every word of an older attempt, even of the same worker, and changes nothing", async () => {
      const old = await scene().submitAndStart();
      scene().nowMs += leaseMs;
      expect(await scene().reap()).toBe(1);
      scene().nowMs += 15_000;
      const current = await scene().claim();
      expect(current.job).toMatchObject({ id: old.job.id, attempt: 2, workerId: "w1" });
      const before = await scene().job(old.job.id);
      const changes = [
        { act: "start", isolation: null },
        { act: "renew" },
        { act: "progress", progress: "1" },
        { act: "agent", calls: [{ call: 1, tool: "Read", title: "a.txt", status: "running" }] },
        { act: "stopped", exitCode: 143 },
        { act: "release", reason: "drain" },
        resultOf("{}"),
        failureOf("EXECUTION_ERROR"),
      ] as const;
      for (const change of changes) expect(await scene().change(old, change)).toMatchObject(lost);
      expect(await scene().job(old.job.id)).toEqual(before);
    });

    it("keeps the exit code of a cancelled attempt whose processes are dead, until its end", async () => {
      const claimed = await scene().submitAndStart();
      const stopped = { act: "stopped", exitCode: 143 } as const;
      expect(await scene().change(claimed, stopped)).toMatchObject({
        kind: "refused",
        code: "STATE_CONFLICT",
      });
      await scene().cancel(claimed.job.id);
      expect(await scene().change(claimed, stopped)).toMatchObject({ kind: "moved" });
      expect(await scene().change(claimed, stopped)).toMatchObject({ kind: "duplicate" });
      expect(await scene().job(claimed.job.id)).toMatchObject({ status: "running", exitCode: 143 });
      expect((await scene().eventNames(claimed.job.id)).at(-1)).toBe("JOB_STOPPED");
      scene().nowMs += leaseMs;
      expect(await scene().reap()).toBe(1);
      expect(await scene().job(claimed.job.id)).toMatchObject({ status: "failed", exitCode: 143 });
    });

    it("refuses another worker, another attempt and another token", async () => {
      const claimed = await scene().submitAndClaim();
      const fence = fenceOf(claimed);
      const wrong = [
        { ...fence, workerId: "w2" },
        { ...fence, attempt: 2 },
        { ...fence, tokenHash: "00" },
      ];
      for (const other of wrong) {
        expect(await scene().changeJob(claimed.job.id, { act: "renew", fence: other })).toMatchObject(lost);
      }
    });

    it("refuses the current attempt once its lease is over, even before it is reaped", async () => {
      const claimed = await scene().submitAndClaim();
      scene().nowMs += leaseMs;
      expect(await scene().change(claimed, resultOf("{}"))).toMatchObject(lost);
      expect((await scene().job(claimed.job.id)).status).toBe("assigned");
    });

    it("lets an administrator speak for the current attempt by the worker's name", async () => {
      const claimed = await scene().submitAndClaim();
      const fence = { workerId: "w1", attempt: null, tokenHash: null };
      const answer = await scene().changeJob(claimed.job.id, { ...resultOf("1"), fence });
      expect(answer).toMatchObject({ kind: "moved", job: { status: "completed" } });
    });

    it("judges each change of a batch alone and answers in their order", async () => {
      const first = await scene().submitAndClaim();
      const second = await scene().submitAndClaim();
      const changes = [
        { jobId: first.job.id, change: { ...resultOf("1"), fence: fenceOf(first) } },
        { jobId: scene().newId(), change: { ...resultOf("1"), fence: fenceOf(first) } },
        { jobId: second.job.id, change: { ...resultOf("1"), fence: fenceOf(first) } },
        { jobId: second.job.id, change: { ...resultOf("2"), fence: fenceOf(second) } },
      ];
      const answers = await scene().store.changeJobs({ changes, rules: scene().rules, origin: null });
      expect(answers.map(({ kind }) => kind)).toEqual(["moved", "unknown", "refused", "moved"]);
    });
  });

  describe("an attempt", () => {
    const scene = useScene(create);

    it("starts once; a second start only renews", async () => {
      const claimed = await scene().submitAndStart();
      scene().nowMs += 10_000;
      const answer = await scene().change(claimed, { act: "start", isolation: null });
      expect(answer).toMatchObject({
        job: { startedAt: scene().nowMs - 10_000, leaseExpiresAt: scene().nowMs + leaseMs },
      });
      expect(await scene().eventNames(claimed.job.id)).toEqual([
        "JOB_CREATED",
        "JOB_ASSIGNED",
        "JOB_STARTED",
      ]);
    });

    it("that ends before anybody heard of its start has both in its history, in order", async () => {
      const claimed = await scene().submitAndClaim();
      const startedAt = scene().nowMs + 5;
      scene().nowMs += 10;
      await scene().change(claimed, { ...resultOf("1"), startedAt });
      expect(await scene().job(claimed.job.id)).toMatchObject({ status: "completed", startedAt });
      const events = await scene().events(claimed.job.id);
      expect(events.slice(-2)).toMatchObject([
        { event: "JOB_STARTED", ts: startedAt, details: { status: "running", worker_id: "w1" } },
        { event: "JOB_COMPLETED", ts: startedAt + 5, details: { status: "completed" } },
      ]);
    });

    it("renews its lease without an event and tells its progress with one", async () => {
      const claimed = await scene().submitAndStart();
      scene().nowMs += 30_000;
      await scene().change(claimed, { act: "renew" });
      await scene().change(claimed, { act: "progress", progress: "50" });
      const job = await scene().job(claimed.job.id);
      expect(job).toMatchObject({
        heartbeatAt: scene().nowMs,
        progress: "50",
        leaseExpiresAt: scene().nowMs + leaseMs,
      });
      expect((await scene().eventNames(job.id)).slice(-2)).toEqual(["JOB_STARTED", "JOB_PROGRESS"]);
    });

    it("answers the same result again as a duplicate and another one as a conflict", async () => {
      const claimed = await scene().submitAndStart();
      expect((await scene().change(claimed, resultOf("1", "key"))).kind).toBe("moved");
      expect((await scene().change(claimed, resultOf("1"))).kind).toBe("duplicate");
      expect((await scene().change(claimed, resultOf("1", "another key"))).kind).toBe("duplicate");
      expect(await scene().change(claimed, resultOf("2", "key"))).toMatchObject({ code: "RESULT_CONFLICT" });
      const other = await scene().change(claimed, resultOf("2"));
      expect(other).toMatchObject({ kind: "refused", code: "RESULT_CONFLICT" });
      expect(await scene().job(claimed.job.id)).toMatchObject({ result: "1", status: "completed" });
    });

    it("takes one of a hundred results that come at once", async () => {
      const claimed = await scene().submitAndStart();
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => scene().change(claimed, resultOf("1"))),
      );
      expect(answers.filter(({ kind }) => kind === "moved")).toHaveLength(1);
      expect(answers.filter(({ kind }) => kind === "duplicate")).toHaveLength(99);
    });

    it("goes back to the queue when it is released, and the tenth time counts as a failure", async () => {
      await scene().submit();
      for (let released = 1; released < 10; released++) {
        const claimed = await scene().claim();
        expect((await scene().job(claimed.job.id)).attempts).toBe(1);
        await scene().change(claimed, { act: "release", reason: "drain" });
        scene().nowMs += 5_000;
      }
      const claimed = await scene().claim();
      expect(await scene().change(claimed, { act: "release", reason: "drain" })).toMatchObject({
        job: {
          status: "pending",
          attempts: 1,
          attempt: 10,
          failHistory: [{ code: "WORKER_DISCONNECTED" }],
        },
      });
    });
  });
}
