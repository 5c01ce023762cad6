import { describe, expect, it } from "vitest";
import { isEnded } from "../../src/core/jobs/job.ts";
import type { Unique } from "../../src/core/unique/unique.ts";
import { failureOf, resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { seededRandom, UniqueModel } from "./unique-model.ts";
import { useScene } from "./use-scene.ts";

type Parts = {
  userId?: string;
  tenantId?: string;
  actsForAll?: boolean;
  idempotencyKey?: string;
  runAt?: number;
};

/** Keys of which at most one job of a tenant has hold. */
export function describeUnique(create: () => StoreUnderTest): void {
  describe("unique keys", () => {
    const scene = useScene(create);
    const newJob = (unique: Unique, parts: Parts = {}) =>
      scene().newJob({ requestHash: "r", ...parts, terms: JSON.stringify({ unique }) });
    const send = async (unique: Unique, parts: Parts = {}) => {
      const job = newJob(unique, parts);
      const outcome = await scene().submitAll([job]);
      return { ...outcome, sent: job.id, job: outcome.kind === "accepted" ? outcome.jobs[0]! : null };
    };
    const accept = async (unique: Unique, parts: Parts = {}): Promise<string> => {
      const { job, sent } = await send(unique, parts);
      expect(job).toEqual({ id: sent, status: "pending", existed: false });
      return sent;
    };
    const standIn = (id: string, status = "pending") => ({ id, status, existed: true, isDuplicate: true });

    it("hazard 17: of another user's job are refused, and neither it nor anything else changes", async () => {
      const unique = { key: "k", until: "end", on_duplicate: "replace" } as const;
      const theirs = await accept(unique, { userId: "u2" });
      const { last } = await scene().store.eventRange();
      expect(await send(unique)).toMatchObject({ kind: "unique_held", index: 0 });
      const before = scene().newJob();
      expect(await scene().submitAll([before, newJob(unique)])).toEqual({ kind: "unique_held", index: 1 });
      expect(await scene().store.getJob({ jobId: before.id })).toBeNull();
      for (const on_duplicate of ["keep", "postpone"] as const)
        expect(await send({ ...unique, on_duplicate, debounce_sec: 1 })).toMatchObject({
          kind: "unique_held",
        });
      expect(await scene().store.eventRange()).toMatchObject({ last });
      expect(await scene().job(theirs)).toMatchObject({ status: "pending" });
      // An administrator may change it, and so may its own user.
      expect((await send({ ...unique, on_duplicate: "keep" }, { actsForAll: true })).job).toEqual(
        standIn(theirs),
      );
    });

    it("are of one tenant", async () => {
      await accept({ key: "k", until: "end" });
      await accept({ key: "k", until: "end" }, { tenantId: "other" });
      await accept({ key: "K", until: "end" });
    });

    it("answer the job that stands, and its timeline names each duplicate", async () => {
      const unique = { key: "k", until: "end" } as const;
      const first = await accept(unique);
      expect((await send(unique)).job).toEqual(standIn(first));
      const claimed = await scene().claim();
      expect((await send(unique)).job).toEqual(standIn(first, "assigned"));
      await scene().change(claimed, { act: "start", isolation: null });
      await scene().reopen();
      expect((await send(unique)).job).toEqual(standIn(first, "running"));
      await scene().change(claimed, resultOf("1"));
      const names = await scene().eventNames(first);
      expect(names.filter((name) => name === "JOB_DEDUPLICATED")).toHaveLength(3);
      expect((await scene().events(first)).map(({ jobSeq }) => jobSeq)).toEqual(names.map((_, at) => at + 1));
      expect((await scene().store.getJob({ jobId: first, isCompared: true }))!.damaged).toEqual([]);
      await accept(unique);
    });

    it("hazard 16: until start are given back at the first claim, so that what comes while the job runs is not lost", async () => {
      const unique = { key: "k", until: "start" } as const;
      const first = await accept(unique);
      expect((await send(unique)).job).toEqual(standIn(first));
      const claimed = await scene().claim();
      expect(claimed.job.id).toBe(first);
      const second = await accept(unique);
      expect((await send(unique)).job).toEqual(standIn(second));
      // A retry of the first one does not take the key again, and its end does not give back the key of the second.
      await scene().change(claimed, failureOf("EXECUTION_ERROR"));
      scene().nowMs += 60_000;
      expect((await send(unique)).job).toEqual(standIn(second));
      const again = await scene().claim();
      expect(again.job.id).toBe(first);
      expect((await send(unique)).job).toEqual(standIn(second));
    });

    it("until end outlast retries, and any end gives them back", async () => {
      const unique = { key: "k", until: "end" } as const;
      const first = await accept(unique);
      const claimed = await scene().claim();
      await scene().change(claimed, failureOf("EXECUTION_ERROR"));
      expect((await send({ ...unique, on_duplicate: "replace" })).job).toEqual(standIn(first));
      await scene().cancel(first);
      const second = await accept(unique);
      await scene().cancel(second);
      await accept(unique);
    });

    it("of a window pass by themselves, however the job ended", async () => {
      const unique = { key: "k", until: "window", window_sec: 60 } as const;
      const first = await accept(unique);
      await scene().cancel(first);
      scene().nowMs += 59_999;
      expect((await send(unique)).job).toEqual(standIn(first, "failed"));
      scene().nowMs += 1;
      await accept(unique);
    });

    it("can be taken over from a job that waits, which ends as superseded", async () => {
      const unique = { key: "k", until: "start", on_duplicate: "replace" } as const;
      const first = await accept(unique);
      const second = await accept(unique);
      expect(await scene().job(first)).toMatchObject({
        status: "failed",
        failCode: "CANCELLED",
        failDetail: "SUPERSEDED",
      });
      const later = await accept(unique, { runAt: scene().nowMs + 1_000 });
      expect(await scene().claimIds(9)).toEqual([]);
      expect(await scene().job(second)).toMatchObject({ failDetail: "SUPERSEDED" });
      scene().nowMs += 1_000;
      await scene().store.promoteJobs({ nowMs: scene().nowMs, limit: 9 });
      expect(await scene().claimIds(9)).toEqual([later]);
    });

    it("postpone a job that waits, and never beyond its longest wait", async () => {
      const unique = {
        key: "k",
        until: "start",
        on_duplicate: "postpone",
        debounce_sec: 10,
        max_wait_sec: 25,
      } as const;
      const startMs = scene().nowMs;
      const first = await accept(unique, { runAt: startMs + 10_000 });
      for (const [afterMs, runAt] of [
        [4_000, 14_000],
        [9_000, 19_000],
        [18_000, 25_000],
        [24_000, 25_000],
      ]) {
        scene().nowMs = startMs + afterMs!;
        await scene().store.promoteJobs({ nowMs: scene().nowMs, limit: 9 });
        expect(await scene().claimIds(1)).toEqual([]);
        expect((await send(unique)).job).toEqual(standIn(first));
        expect(await scene().job(first)).toMatchObject({ runAt: startMs + runAt! });
      }
      scene().nowMs = startMs + 25_000;
      await scene().store.promoteJobs({ nowMs: scene().nowMs, limit: 9 });
      expect(await scene().claimIds(9)).toEqual([first]);
      await accept(unique);
    });

    it("are asked for after a repeated request is answered", async () => {
      const unique = { key: "k", until: "start", on_duplicate: "replace" } as const;
      const first = await accept(unique, { idempotencyKey: "one" });
      expect((await send(unique, { idempotencyKey: "one" })).job).toEqual({
        id: first,
        status: "pending",
        existed: true,
      });
      const second = await accept(unique, { idempotencyKey: "two" });
      expect((await send(unique, { idempotencyKey: "one" })).job).toMatchObject({
        id: first,
        status: "failed",
      });
      expect(await scene().job(second)).toMatchObject({ status: "pending" });
    });

    it("count within one call and between the calls of one transaction", async () => {
      const unique = { key: "k", until: "end" } as const;
      const [one, two, three] = [
        newJob(unique),
        newJob(unique),
        newJob({ ...unique, on_duplicate: "replace" }),
      ];
      expect(await scene().submitAll([one, two, three])).toEqual({
        kind: "accepted",
        jobs: [
          { id: one.id, status: "pending", existed: false },
          standIn(one.id),
          { id: three.id, status: "pending", existed: false },
        ],
      });
      expect(await scene().job(one.id)).toMatchObject({ failDetail: "SUPERSEDED" });
      expect(await scene().claimIds(9)).toEqual([three.id]);
      const sent = await Promise.all(Array.from({ length: 9 }, () => send({ ...unique, key: "other" })));
      expect(new Set(sent.map(({ job }) => job!.id)).size).toBe(1);
      expect(sent.filter(({ job }) => !job!.existed)).toHaveLength(1);
    });

    it("that are taken do not count against the quota", async () => {
      const unique = { key: "k", until: "end" } as const;
      const first = await accept(unique);
      const outcome = await scene().submitAll([newJob(unique)], 1);
      expect(outcome).toEqual({ kind: "accepted", jobs: [standIn(first)] });
      expect(await scene().submitAll([newJob({ ...unique, key: "other" })], 1)).toMatchObject({
        kind: "over_quota",
      });
    });

    it("hazard 17: refuse a person's retry while another job has the key, and are not taken by one", async () => {
      const unique = { key: "k", until: "end" } as const;
      const first = await accept(unique);
      await scene().cancel(first);
      const second = await accept(unique);
      expect(await scene().changeJob(first, { act: "retry" })).toMatchObject({
        kind: "refused",
        code: "UNIQUE_HELD",
      });
      await scene().cancel(second);
      expect(await scene().changeJob(first, { act: "retry" })).toMatchObject({ kind: "moved" });
      await accept(unique);
    });

    it("hazard 16: have one holder each when two hubs submit, claim and end jobs at the same time", async () => {
      const stores = [scene().store, await scene().openAnother()];
      const names = ["a", "b"];
      for (let round = 0; round < 6; round++) {
        const sent = await Promise.all(
          Array.from({ length: 12 }, async (_, at) => {
            const on_duplicate = (["keep", "replace", "keep"] as const)[at % 3]!;
            const job = newJob({ key: names[at % 2]!, until: at % 4 < 2 ? "end" : "start", on_duplicate });
            const store = stores[at % 3 === 0 ? 0 : 1]!;
            if (at % 5 === 4) await store.claimJobs({ ...scene().claimInput(1), workerId: `w${at}` });
            return store.submitJobs({ jobs: [job], maxPending: null, origin: null });
          }),
        );
        expect(sent.map(({ kind }) => kind)).toEqual(sent.map(() => "accepted"));
        const { jobs } = await scene().store.listJobs({ limit: 1_000 });
        for (const key of names) {
          const waiting = jobs.filter(
            ({ job }) =>
              job.status === "pending" &&
              job.attempt === 0 &&
              (JSON.parse(job.terms!) as { unique: Unique }).unique.key === key,
          );
          expect(waiting.length, `jobs that wait with the key ${key}`).toBeLessThanOrEqual(1);
        }
      }
    });

    it("go with a job that is deleted, and come with a copy of the memory", async () => {
      const unique = { key: "k", until: "window", window_sec: 600_000 } as const;
      const first = await accept(unique);
      await scene().cancel(first);
      await scene().reopen();
      expect((await send(unique)).job).toEqual(standIn(first, "failed"));
      const before = scene().nowMs + 1;
      await scene().store.pruneJobs({
        endedBefore: before,
        quarantinedBefore: before,
        limit: 9,
        nowMs: before,
      });
      await accept(unique);
    });

    it("hazards 16 and 17: have one holder each after any acts, and none that has given them back", async () => {
      const random = seededRandom(28);
      const model = new UniqueModel(scene());
      for (let step = 0; step < 150; step++) {
        await model.step(random);
        if (step % 40 === 39) await scene().reopen();
      }
      await model.drain();
      const { jobs } = await scene().store.listJobs({ limit: 1_000 });
      expect(jobs.filter(({ job }) => !isEnded(job.status))).toEqual([]);
    });
  });
}
