import { describe, expect, it } from "vitest";
import type { Store } from "../../src/store/store.ts";
import { fenceOf, origin, resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

/**
 * What readers of the log rely on, as the page of the Store says it, with two stores open on one database.
 * Why: ADR 0021.
 */
export function describeOrder(create: () => StoreUnderTest): void {
  describe("the order of events, in two stores at once", () => {
    const scene = useScene(create);
    const submit = (store: Store, jobs = [scene().newJob()]) =>
      store.submitJobs({ jobs, maxPending: null, origin });
    const numbers = (length: number) => Array.from({ length }, (_, index) => index + 1);

    /** Reads on from the last number that it knows, and asks once more after the writers have ended. */
    async function follow(store: Store, writers: Promise<unknown>): Promise<number[]> {
      const seen: number[] = [];
      let isOver = false;
      const ended = writers.finally(() => {
        isOver = true;
      });
      for (let last = false; !last; ) {
        const wasOver = isOver;
        const page = await store.readEvents({ afterSeq: seen.at(-1) ?? 0, limit: 7 });
        seen.push(...page.map(({ seq }) => seq));
        last = wasOver && page.length === 0;
      }
      await ended;
      return seen;
    }

    it("shows a reader every event once, in order and without a gap, while another store writes", async () => {
      const reader = await scene().openAnother();
      const write = async () => {
        for (let round = 0; round < 5; round++) {
          await Promise.all(Array.from({ length: 8 }, () => submit(scene().store)));
          const { claimed } = await scene().claimUpTo(4);
          for (const given of claimed) await scene().change(given, resultOf("1"));
        }
      };
      expect(await follow(reader, write())).toEqual(numbers(5 * (8 + 4 + 4)));
    });

    it("is one order when both write", async () => {
      const other = await scene().openAnother();
      const write = async (store: Store) => {
        for (let round = 0; round < 10; round++) await Promise.all([submit(store), submit(store)]);
      };
      const writers = Promise.all([write(scene().store), write(other)]);
      const seen = await Promise.all([follow(scene().store, writers), follow(other, writers)]);
      expect(seen).toEqual([numbers(40), numbers(40)]);
    });

    it("has no gap where an act was refused or has failed among others", async () => {
      const taken = scene().newJob({ idempotencyKey: "k", requestHash: "a" });
      const token = { id: "t", secretHash: "h", role: "user", tenantId: null, userId: "u" } as const;
      const input = { token: { ...token, workerId: null, createdAt: 1, expiresAt: null }, origin };
      const other = await scene().openAnother();
      const writers = Promise.allSettled([
        submit(scene().store, [taken]),
        scene().store.createToken(input),
        submit(scene().store, [scene().newJob(), scene().newJob({ idempotencyKey: "k", requestHash: "b" })]),
        scene().store.createToken(input),
        submit(scene().store),
      ]);
      expect(await follow(other, writers)).toEqual([1, 2, 3]);
      expect(
        (await writers).map(({ status }) => status).filter((status) => status === "rejected"),
      ).toHaveLength(1);
    });

    it("is final up to the last number that any store has shown", async () => {
      const other = await scene().openAnother();
      const read = async (store: Store, last: number) =>
        (await store.readEvents({ afterSeq: 0, limit: 99 })).filter(({ seq }) => seq <= last);
      await submit(scene().store);
      await submit(other);
      const { last } = await other.eventRange();
      const before = await read(scene().store, last);
      expect(before).toHaveLength(last);
      await Promise.all([submit(scene().store), submit(other)]);
      expect(await read(scene().store, last)).toEqual(before);
      expect(await read(other, last)).toEqual(before);
    });

    it("is there for every store once an act is answered, and once a listener hears of it", async () => {
      const other = await scene().openAnother();
      const heard: Promise<number | undefined>[] = [];
      const leave = scene().store.onCommit(({ lastSeq, isAll }) => {
        if (isAll) return;
        heard.push(other.readEvents({ afterSeq: lastSeq - 1, limit: 1 }).then(([event]) => event?.seq));
      });
      for (const expected of numbers(5)) {
        await submit(scene().store);
        expect((await other.eventRange()).last).toBe(expected);
      }
      expect(await Promise.all(heard)).toEqual(numbers(5));
      leave();
    });

    it("goes on where it was after a restart of one of them", async () => {
      const other = await scene().openAnother();
      await submit(other);
      await scene().reopen();
      await submit(scene().store);
      await submit(other);
      expect(await follow(other, Promise.resolve())).toEqual([1, 2, 3]);
    });
  });

  describe("two stores on one database", () => {
    const scene = useScene(create);

    it("never lease one job twice", async () => {
      const ids = new Set<string>();
      for (let made = 0; made < 10; made++) ids.add(await scene().submit());
      const other = await scene().openAnother();
      const stores = [scene().store, other, scene().store, other];
      const claims = await Promise.all(stores.map((store) => store.claimJobs(scene().claimInput(3))));
      const claimed = claims.flatMap((outcome) => outcome.claimed.map(({ job }) => job.id));
      expect(claimed).toHaveLength(10);
      expect(new Set(claimed)).toEqual(ids);
    });

    it("judge a word about an attempt alike, whichever of them made the lease", async () => {
      const claimed = await scene().submitAndStart();
      const other = await scene().openAnother();
      const finish = (store: Store, result: string) => {
        const change = { ...resultOf(result), fence: fenceOf(claimed) };
        const changes = [{ jobId: claimed.job.id, change }];
        return store.changeJobs({ changes, rules: scene().rules, origin });
      };
      expect(await finish(other, "1")).toMatchObject([{ kind: "moved" }]);
      expect(await finish(scene().store, "1")).toMatchObject([{ kind: "duplicate" }]);
      expect(await finish(scene().store, "2")).toMatchObject([{ code: "RESULT_CONFLICT" }]);
    });
  });
}
