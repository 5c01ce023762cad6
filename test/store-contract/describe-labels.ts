import { describe, expect, it } from "vitest";
import type { JobFilter } from "../../src/store/jobs/job-list.ts";
import { failureOf, origin, resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

const termsOf = (terms: object): string => JSON.stringify(terms);

/** What jobs are found by, and how long they are kept, as they say themselves. */
export function describeLabels(create: () => StoreUnderTest): void {
  describe("labels", () => {
    const scene = useScene(create);
    const find = async (filter: Omit<JobFilter, "limit">) =>
      (await scene().store.listJobIds({ ...filter, limit: 99 })).ids;
    const submit = (labels: string[], parts: { tenantId?: string; userId?: string } = {}) =>
      scene().submit({ ...parts, terms: termsOf({ labels }) });

    it("find no job that has not got them, that is another's or that is of another tenant", async () => {
      const mine = await submit(["a", "b"]);
      await submit(["b"]);
      await scene().submit();
      await scene().submit({ terms: termsOf({ finish_within_sec: 9 }) });
      const theirs = await submit(["a"], { userId: "u2" });
      const elsewhere = await submit(["a"], { tenantId: "other" });
      expect(await find({ label: "A" })).toEqual([]);
      expect(await find({ label: "a", tenantId: "nobody" })).toEqual([]);
      expect(await find({ label: "a", tenantId: "acme", userId: "u1" })).toEqual([mine]);
      expect(await find({ label: "a", tenantId: "acme" })).toEqual([theirs, mine]);
      expect(await find({ label: "a" })).toEqual([elsewhere, theirs, mine]);
      const page = await scene().store.listJobIds({ label: "a", tenantId: "acme", limit: 1 });
      expect(page).toMatchObject({ ids: [theirs] });
      expect(await find({ label: "a", tenantId: "acme", before: page.nextBefore! })).toEqual([mine]);
      expect(await scene().store.countJobs({ label: "a", tenantId: "acme" })).toEqual({
        count: 2,
        isMore: false,
      });
    });

    it("are found together with states, types, words and times, also after the store was opened again", async () => {
      const label = "x' OR 1=1 --";
      const first = await submit([label]);
      const second = await submit([label]);
      await scene().cancel(first);
      await scene().reopen();
      const of = (filter: Omit<JobFilter, "limit">) => find({ ...filter, label, tenantId: "acme" });
      expect(await of({})).toEqual([second, first]);
      expect(await of({ statuses: ["failed"] })).toEqual([first]);
      expect(await of({ statuses: ["pending"] })).toEqual([second]);
      expect(await of({ ids: [first] })).toEqual([first]);
      expect(await of({ idPart: first })).toEqual([first]);
      expect(await of({ type: "none" })).toEqual([]);
      expect(await of({ since: scene().nowMs + 1 })).toEqual([]);
      expect(await of({ search: second })).toEqual([second]);
    });

    it("go with the job", async () => {
      const id = await submit(["a"]);
      await scene().cancel(id);
      const before = scene().nowMs + 1;
      await scene().store.pruneJobs({
        endedBefore: before,
        quarantinedBefore: before,
        limit: 9,
        nowMs: before,
      });
      expect(await find({ label: "a", tenantId: "acme" })).toEqual([]);
      expect(await find({ label: "a" })).toEqual([]);
    });
  });

  describe("a job of a schedule", () => {
    const scene = useScene(create);

    it("is found by the name of the schedule, within its tenant", async () => {
      const made = await Promise.all(
        ["acme", "other"].map(async (tenantId, index) => {
          const order = {
            kind: "schedule" as const,
            tenantId,
            name: "nightly",
            id: `o${index}`,
            userId: "u1",
            revision: 1,
            nextAt: 1,
            cursor: 0,
            state: "{}",
            seal: "s",
          };
          await scene().store.putOrder({ order, revisionBefore: null, events: [], most: 9 });
          const job = scene().newJob({ tenantId });
          const fired = await scene().store.fireOrders({
            firings: [
              {
                order: { ...order, revision: 2 },
                revisionBefore: 1,
                events: [],
                occurrences: [
                  { occurrence: "1", at: 1, outcome: "fired", job },
                  { occurrence: "0", at: 0, outcome: "skipped", job: null },
                ],
                endedJobId: null,
                maxPending: null,
                nowMs: scene().nowMs,
                origin,
              },
            ],
          });
          expect(fired).toEqual([{ kind: "fired", jobs: [job.id] }]);
          return job.id;
        }),
      );
      await scene().submit();
      const find = async (filter: Omit<JobFilter, "limit">) =>
        (await scene().store.listJobIds({ ...filter, limit: 99 })).ids;
      expect(await find({ schedule: "Nightly" })).toEqual([]);
      expect(await find({ schedule: "nightly", tenantId: "acme" })).toEqual([made[0]]);
      expect(await find({ schedule: "nightly", tenantId: "acme", userId: "u2" })).toEqual([]);
      expect((await find({ schedule: "nightly" })).sort()).toEqual([...made].sort());
      expect(await find({ schedule: "nightly", tenantId: "other", statuses: ["pending"] })).toEqual([
        made[1],
      ]);
      expect(await find({ schedule: "nightly", ids: made, tenantId: "other" })).toEqual([made[1]]);
    });
  });

  describe("a job that says how long it is kept", () => {
    const scene = useScene(create);
    const prune = (retentionMs: number) =>
      scene().store.pruneJobs({
        endedBefore: scene().nowMs - retentionMs,
        quarantinedBefore: scene().nowMs - retentionMs,
        limit: 9,
        nowMs: scene().nowMs,
      });

    it("is not deleted before, although others are", async () => {
      const long = await scene().submitAndStart({ terms: termsOf({ keep_sec: 1_000 }) });
      await scene().change(long, resultOf("1"));
      const plain = await scene().submitAndStart();
      await scene().change(plain, resultOf("1"));
      scene().nowMs += 999_000;
      await scene().reopen();
      expect(await prune(1_000)).toEqual([plain.job.id]);
      scene().nowMs += 1_000;
      expect(await prune(1_000)).toEqual([long.job.id]);
    });

    it("is deleted then, although others are kept; not one that is active or was retried", async () => {
      const terms = termsOf({ keep_sec: 0 });
      const ended = await scene().submitAndStart({ terms });
      await scene().change(ended, failureOf("INVALID_JOB"));
      const retried = await scene().submitAndStart({ terms, type: "other" });
      await scene().change(retried, failureOf("INVALID_JOB"));
      await scene().changeJob(retried.job.id, { act: "retry" });
      await scene().submit({ terms });
      expect(await prune(1e9)).toEqual([ended.job.id]);
      expect(await scene().cancel(retried.job.id)).toMatchObject({ kind: "moved" });
      expect(await prune(1e9)).toEqual([retried.job.id]);
    });
  });
}
