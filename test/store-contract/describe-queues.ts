import { describe, expect, it } from "vitest";
import { failureOf, origin, resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

export function describeQueues(create: () => StoreUnderTest): void {
  describe("queues", () => {
    const scene = useScene(create);

    const pause = (type: string, paused: boolean) =>
      scene().store.setQueuePaused({ type, paused, nowMs: scene().nowMs, origin });

    it("give nothing of a paused type until it is resumed, and then wake waiting claims", async () => {
      const id = await scene().submit();
      await pause("build", true);
      expect(await scene().claimIds(1)).toEqual([]);
      expect(await scene().store.getQueuePosition({ jobId: id })).toMatchObject({ ahead: 0, paused: true });
      scene().notices = [];
      await pause("build", false);
      expect(scene().notices.flatMap(({ ready }) => ready)).toHaveLength(1);
      expect(await scene().claimIds(1)).toEqual([id]);
    });

    it("stay paused over a restart, and tell of each change once", async () => {
      await scene().submit();
      await pause("build", true);
      await pause("build", true);
      await scene().reopen();
      expect(await scene().claimIds(1)).toEqual([]);
      const told = await scene().store.readEvents({ afterSeq: 0, limit: 10, kinds: ["QUEUE_PAUSED"] });
      expect(told).toMatchObject([{ details: { type: "build" }, origin }]);
    });

    it("O-28 tell which of their jobs are scheduled: never claimed, and before their time", async () => {
      const runAt = scene().nowMs + 60_000;
      const waiting = await scene().submit();
      const scheduled = await scene().submit({ runAt });
      const retried = await scene().submit({ type: "test" });
      const { claimed } = await scene().claimUpTo(1, { types: ["test"] });
      await scene().change(claimed[0]!, failureOf("EXECUTION_ERROR"));
      expect((await scene().store.getJob({ jobId: retried }))!.job.runAt).toBeGreaterThan(scene().nowMs);
      const found = async (pendingPart: "waiting" | "scheduled", more = {}) =>
        (await scene().store.listJobIds({ pendingPart, limit: 10, ...more })).ids;
      expect(await found("scheduled")).toEqual([scheduled]);
      expect(await found("scheduled", { statuses: ["pending"], tenantId: "acme" })).toEqual([scheduled]);
      expect(await found("waiting")).toEqual([retried, waiting]);
      expect(await found("waiting", { statuses: ["pending", "running"] })).toEqual([retried, waiting]);
      expect(await found("scheduled", { statuses: ["running"] })).toEqual([]);
      const count = { statuses: ["pending"], pendingPart: "scheduled" } as const;
      expect(await scene().store.countJobs(count)).toEqual({ count: 1, isMore: false });
      expect(await scene().store.listQueues()).toMatchObject([
        { type: "build", pending: 2, scheduled: 1 },
        { type: "test", pending: 1, scheduled: 0 },
      ]);
      expect(await scene().store.listWaitingQueues()).toMatchObject([
        { facts: { type: "build" }, waiting: 1 },
        { facts: { type: "test" }, waiting: 1 },
      ]);
      await pause("build", true);
      expect(await scene().store.listWaitingQueues()).toMatchObject([{ facts: { type: "test" } }]);
    });

    it("O-28 a job that was scheduled waits from its time on, not from its submission", async () => {
      const runAt = scene().nowMs + 60_000;
      await scene().submit({ runAt });
      scene().nowMs = runAt + 500;
      await scene().store.promoteJobs({ nowMs: scene().nowMs, limit: 10 });
      expect(await scene().store.surveyQueues()).toMatchObject([
        { pending: 1, scheduled: 0, oldestAt: runAt },
      ]);
    });

    it("are counted by tenant and type, whatever state their jobs are in", async () => {
      await scene().submit({ facts: { tags: ["a"] } });
      await scene().submit({ runAt: scene().nowMs + 1 });
      await scene().submit({ tenantId: "other" });
      await scene().submit({ type: "test" });
      const { claimed } = await scene().claimUpTo(1, { types: ["test"] });
      await scene().change(claimed[0]!, resultOf("1"));
      await scene().claimUpTo(1, { tags: ["a"], tenantId: "acme" });
      expect(await scene().store.listQueues()).toEqual([
        { tenantId: "acme", type: "build", paused: false, pending: 1, scheduled: 1, active: 1 },
        { tenantId: "acme", type: "test", paused: false, pending: 0, scheduled: 0, active: 0 },
        { tenantId: "other", type: "build", paused: false, pending: 1, scheduled: 0, active: 0 },
      ]);
    });

    it("C6: are listed when they are paused, even if no tenant has jobs of the type", async () => {
      await scene().submit({ type: "test" });
      await pause("build", true);
      await pause("test", true);
      await scene().reopen();
      expect(await scene().store.listQueues()).toEqual([
        { tenantId: "acme", type: "test", paused: true, pending: 1, scheduled: 0, active: 0 },
        { tenantId: null, type: "build", paused: true, pending: 0, scheduled: 0, active: 0 },
      ]);
    });

    it("know how many jobs go first", async () => {
      const low = await scene().submit({ priority: 1 });
      await scene().submit({ priority: 5 });
      const last = await scene().submit({ priority: 1 });
      await scene().submit({ priority: 5, runAt: scene().nowMs + 1_000 });
      await scene().submit({ priority: 9, type: "test" });
      const free = { paused: false, running: 0 };
      expect(await scene().store.getQueuePosition({ jobId: low })).toEqual({ ahead: 1, ...free });
      expect(await scene().store.getQueuePosition({ jobId: last })).toEqual({ ahead: 2, ...free });
    });

    it("B7: know how many jobs of the tenant run", async () => {
      await scene().submitAndClaim();
      const jobId = await scene().submit({ type: "test" });
      expect(await scene().store.getQueuePosition({ jobId })).toMatchObject({ running: 1 });
    });

    it("have no place for a job that is not waiting or not there", async () => {
      const claimed = await scene().submitAndClaim();
      expect(await scene().store.getQueuePosition({ jobId: claimed.job.id })).toBeNull();
      expect(await scene().store.getQueuePosition({ jobId: scene().newId() })).toBeNull();
    });

    it("take up delayed jobs when their time has come, and say when the next is due", async () => {
      const { nowMs } = scene();
      await scene().submit({ runAt: nowMs + 10 });
      await scene().submit({ runAt: nowMs + 20 });
      scene().notices = [];
      expect(await scene().store.promoteJobs({ nowMs, limit: 10 })).toEqual({ nextRunAt: nowMs + 10 });
      expect(scene().notices).toEqual([]);
      const later = await scene().store.promoteJobs({ nowMs: nowMs + 10, limit: 10 });
      expect(later).toEqual({ nextRunAt: nowMs + 20 });
      expect(scene().notices.flatMap(({ ready }) => ready)).toMatchObject([{ count: 1 }]);
      const last = await scene().store.promoteJobs({ nowMs: nowMs + 20, limit: 10 });
      expect(last).toEqual({ nextRunAt: null });
    });
  });

  describe("quotas", () => {
    const scene = useScene(create);

    it("are empty until somebody sets them, and are kept", async () => {
      const { store, nowMs } = scene();
      expect(await store.getQuota({ tenantId: "acme" })).toEqual({});
      await store.putQuota({ tenantId: "acme", quota: { max_pending: 5 }, nowMs, origin });
      await scene().reopen();
      expect(await scene().store.getQuota({ tenantId: "acme" })).toEqual({ max_pending: 5 });
      expect(await scene().lastEvent()).toMatchObject({
        event: "QUOTA_CHANGED",
        tenantId: "acme",
        details: { max_pending: 5 },
      });
    });
  });

  describe("waiting queues", () => {
    const scene = useScene(create);

    it("O-23 are those with a job that is not scheduled and not paused, the longest first", async () => {
      const { store, nowMs } = scene();
      await scene().submit({ type: "short" });
      await scene().submit({ type: "long", facts: { tags: ["gpu"] } });
      await scene().submit({ type: "long", facts: { tags: ["gpu"] } });
      await scene().submit({ type: "later", runAt: nowMs + 60_000 });
      await scene().submit({ type: "paused" });
      await store.setQueuePaused({ type: "paused", paused: true, nowMs, origin });
      await scene().submit({ type: "held" });
      await scene().claimIds(1, { types: ["held"] });
      expect(await store.listWaitingQueues()).toMatchObject([
        { facts: { tenant_id: "acme", type: "long", tags: ["gpu"] }, waiting: 2 },
        { facts: { tenant_id: "acme", type: "short" }, waiting: 1 },
      ]);
    });
  });

  describe("a survey", () => {
    const scene = useScene(create);

    it("C10: counts what waits and is held by tenant and type, and tells since when the oldest waits", async () => {
      const start = scene().nowMs;
      await scene().submit({ priority: 2 });
      scene().nowMs += 1_000;
      await scene().submit({ priority: 9, facts: { tags: ["gpu"] } });
      await scene().submit({ type: "later", runAt: scene().nowMs + 60_000 });
      await scene().submit({ tenantId: "other", type: "held" });
      await scene().claimIds(1, { types: ["held"] });
      const survey = await scene().store.surveyQueues();
      expect(survey.toSorted((a, b) => (a.type! < b.type! ? -1 : 1))).toEqual([
        { tenantId: "acme", type: "build", pending: 2, scheduled: 0, active: 0, oldestAt: start },
        { tenantId: "other", type: "held", pending: 0, scheduled: 0, active: 1, oldestAt: null },
        { tenantId: "acme", type: "later", pending: 0, scheduled: 1, active: 0, oldestAt: null },
      ]);
    });

    it("C10: has a limited number of lines, and the rest together", async () => {
      const jobs = Array.from({ length: 25 }, (_, index) => scene().newJob({ type: `t${index}` }));
      await scene().submitAll(jobs);
      const survey = await scene().store.surveyQueues();
      expect(survey).toHaveLength(21);
      expect(survey.at(-1)).toMatchObject({ tenantId: null, type: null, pending: 5 });
      expect(survey.at(-1)!.oldestAt).toBe(scene().nowMs);
    });
  });

  describe("usage", () => {
    const scene = useScene(create);

    it("C6: is listed for every tenant with a quota or jobs", async () => {
      const { store, nowMs } = scene();
      await store.putQuota({ tenantId: "quiet", quota: { max_pending: 5 }, nowMs, origin });
      await scene().submitAndClaim();
      await scene().submit();
      expect(await store.listQuotas()).toEqual([
        { tenantId: "acme", quota: {}, pending: 1, active: 1 },
        { tenantId: "quiet", quota: { max_pending: 5 }, pending: 0, active: 0 },
      ]);
    });
  });

  describe("forgetting", () => {
    const scene = useScene(create);

    it("forgets finished jobs and dead letters after their time, oldest first, and only those", async () => {
      const done = await scene().submitAndClaim();
      await scene().change(done, resultOf("1"));
      const dead = await scene().submitAndClaim({ maxAttempts: 2 });
      await scene().change(dead, failureOf("TIMEOUT"));
      scene().nowMs += 60_000;
      await scene().change(await scene().claim(), failureOf("TIMEOUT"));
      expect((await scene().job(dead.job.id)).status).toBe("quarantined");
      const waiting = await scene().submit();
      const after = scene().nowMs + 1;
      const prune = (endedBefore: number, quarantinedBefore: number, limit = 9) =>
        scene().store.pruneJobs({ endedBefore, quarantinedBefore, limit, nowMs: 7 });
      expect(await prune(0, 0)).toEqual([]);
      expect(await prune(0, after)).toEqual([dead.job.id]);
      expect(await prune(after, after, 1)).toEqual([done.job.id]);
      expect(await prune(after, after)).toEqual([]);
      expect(await scene().store.getJob({ jobId: done.job.id })).toBeNull();
      expect((await scene().eventNames(done.job.id)).slice(-2)).toEqual(["JOB_COMPLETED", "JOB_REMOVED"]);
      const [removed] = await scene().store.readEvents({ afterSeq: 0, limit: 1, kinds: ["JOB_REMOVED"] });
      const told = { type: expect.any(String), status: "quarantined", fail_code: "TIMEOUT" };
      expect(removed).toMatchObject({ jobId: dead.job.id, ts: 7, details: told });
      const ofDead = await scene().store.readEvents({ afterSeq: 0, limit: 99, jobId: dead.job.id });
      expect(ofDead.map(({ jobSeq }) => jobSeq)).toEqual(ofDead.map((_, index) => index + 1));
      expect((await scene().job(waiting)).status).toBe("pending");
      expect((await scene().store.ping()).jobs).toMatchObject({ pending: 1, completed: 0, quarantined: 0 });
    });
  });
}
