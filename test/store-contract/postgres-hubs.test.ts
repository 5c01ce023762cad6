import { describe, expect, onTestFinished, test } from "vitest";
import { plainWorker } from "../../src/core/jobs/queue-key.testing.ts";
import type { HubSeat } from "../../src/store/database/hub-seat.ts";
import { isLeadLost } from "../../src/store/database/hub-seat.ts";
import type { CommitNotice } from "../../src/store/event-store.ts";
import { takeSeat } from "../../src/store/postgres/hubs/hub-seat.ts";
import { openPostgresStore } from "../../src/store/postgres/open-store.ts";
import type { ClaimedJob, Store } from "../../src/store/store.ts";
import { eventually } from "../support/eventually.ts";
import { noPostgres, withClient } from "../support/postgres-cluster.ts";
import { postgresUnderTest } from "./postgres-under-test.ts";
import { failureOf, fenceOf, macKey, origin, resultOf, type Scene } from "./scene.ts";
import { useScene } from "./use-scene.ts";

describe.skipIf(noPostgres !== undefined)(
  `stores of several hubs on PostgreSQL${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    const under = postgresUnderTest();
    const scene = useScene(() => under);

    const advance = (seq: number) => ({
      ...{ name: "mqtt", seq, memory: "begun", nowMs: scene().nowMs },
      ...{ messages: [], waitingMax: 0, watch: [] },
    });

    test("the place of a log reader is moved by the leader alone, however late the one before it calls", async () => {
      const url = await under.url();
      const seats = [await takeSeat(url), await takeSeat(url)] as const;
      let terms: (number | null)[] = [await leadOf(seats[0]), null];
      const stores = await Promise.all(
        [0, 1].map((n) => openPostgresStore({ url, macKey, term: () => terms[n]! })),
      );
      onTestFinished(async () => {
        for (const store of stores) await store.close();
        for (const seat of seats) await seat.leave();
      });
      await stores[0]!.advanceLogReader(advance(5));
      await expect(stores[1]!.advanceLogReader(advance(6))).rejects.toMatchObject({ code: "STATE_CONFLICT" });
      await seats[0].leave();
      // It was frozen, and does not know yet.
      terms = [terms[0]!, await leadOf(seats[1])];
      expect(terms[1]).toBe(terms[0]! + 1);
      await stores[1]!.advanceLogReader(advance(9));
      await expect(stores[0]!.advanceLogReader(advance(6))).rejects.toSatisfy(isLeadLost);
      await expect(stores[0]!.finishMessage({ id: 1, retryAt: null })).rejects.toMatchObject({
        code: "STATE_CONFLICT",
      });
      expect(await stores[0]!.getLogReader({ name: "mqtt" })).toMatchObject({ seq: 9 });
    });

    test("a claim that waits is handed a job although others write all the time", async () => {
      const other = await scene().openAnother();
      await scene().register({ id: "w1" });
      const claim = { ...scene().claimInput(1), workerId: "w1", worker: plainWorker, parkAs: "c1" };
      expect((await scene().store.claimJobs(claim)).claimed).toEqual([]);
      await other.submitJobs({ jobs: [scene().newJob({ type: "other" })], maxPending: null, origin });
      await other.setQueuePaused({ type: "other", paused: true, nowMs: scene().nowMs, origin });
      const id = await scene().submit();
      const given = scene().notices.flatMap(({ handedOver }) => handedOver);
      expect(given).toMatchObject([{ claimId: "c1", claimed: [{ job: { id } }] }]);
    });

    test("a job that another store has leased since is ended by its newest lease alone", async () => {
      const other = await scene().openAnother();
      const first = await scene().submitAndStart();
      const { id: jobId } = first.job;
      const end = (store: Store, claimed: ClaimedJob, change: typeof failed | typeof done) =>
        store.changeJobs({
          changes: [{ jobId, change: { ...change, fence: fenceOf(claimed) } }],
          rules: scene().rules,
          origin,
        });
      const failed = failureOf("EXECUTION_ERROR");
      const done = resultOf("7");
      expect(await end(other, first, failed)).toMatchObject([{ kind: "moved" }]);
      scene().nowMs = (await scene().job(jobId)).runAt;
      const claim = { ...scene().claimInput(1), workerId: "w1", worker: plainWorker };
      const [second] = (await other.claimJobs(claim)).claimed;
      expect(await end(scene().store, first, done)).toMatchObject([{ kind: "refused" }]);
      expect(await end(scene().store, second!, done)).toMatchObject([{ kind: "moved" }]);
      expect(await scene().job(jobId)).toMatchObject({ status: "completed", result: "7", attempt: 2 });
    });

    test("a job is found although this store has leased another one under the same id", async () => {
      const other = await scene().openAnother();
      const { job, ...lease } = await scene().submitAndStart();
      const end = (store: Store, claimed: ClaimedJob) =>
        store.changeJobs({
          changes: [{ jobId: job.id, change: { ...resultOf("7"), fence: fenceOf(claimed) } }],
          rules: scene().rules,
          origin,
        });
      await end(other, { job, ...lease });
      const past = scene().nowMs + 1;
      await other.pruneJobs({ endedBefore: past, quarantinedBefore: past, limit: 10, nowMs: past });
      const again = { ...scene().newJob(), id: job.id };
      await other.submitJobs({ jobs: [again], maxPending: null, origin });
      const claim = { ...scene().claimInput(1), workerId: "w1", worker: plainWorker };
      const [second] = (await other.claimJobs(claim)).claimed;
      expect(await end(scene().store, second!)).toMatchObject([{ kind: "moved" }]);
    });

    /** The server may need a moment to notice that the one before it is gone. */
    const leadOf = (seat: HubSeat): Promise<number> =>
      eventually("it leads", async () => (await seat.beat().catch(() => null))?.term ?? undefined);

    /** What a store hears that was not its own commit. */
    async function heardFrom(act: (other: Store) => Promise<unknown>): Promise<CommitNotice> {
      const other = await scene().openAnother();
      other.onCommit(() => {});
      // They have found each other when a message arrives.
      await eventually("they hear of each other", async () => {
        await other.recordEvents({ events: [loggedIn(scene())] });
        return scene().notices.length > 0;
      });
      scene().notices = [];
      await act(other);
      return eventually("it is heard", () =>
        scene().notices.find(({ jobs, workers }) => jobs.length + workers.length > 0),
      );
    }

    test("what one has committed is told to the other: queues, jobs, signals and workers", async () => {
      const job = scene().newJob();
      const submitted = await heardFrom((other) =>
        other.submitJobs({ jobs: [job], maxPending: null, origin }),
      );
      expect(submitted).toMatchObject({
        ready: [{ queueKey: job.queueKey, count: 1 }],
        jobs: [job.id.slice(-8)],
      });
      expect(submitted.lastSeq).toBe((await scene().store.eventRange()).last);
      const [claimed] = (await scene().claimUpTo(1)).claimed;
      scene().notices = [];
      const cancelled = await heardFrom((other) =>
        other.changeJobs({
          changes: [{ jobId: claimed!.job.id, change: { act: "cancel" } }],
          rules: scene().rules,
          origin,
        }),
      );
      expect(cancelled.signals).toEqual([{ workerId: "w1", jobId: job.id, signal: "cancel" }]);
      await scene().register({ id: "w2" });
      const drained = await heardFrom((other) =>
        other.setWorker({ workerId: "w2", set: { draining: true }, nowMs: scene().nowMs, origin }),
      );
      expect(drained.workers).toEqual([{ workerId: "w2", isDraining: true }]);
    });

    test("more than fits in a message is told as: look at everything", async () => {
      let isAll = false;
      scene().store.onCommit((notice) => {
        isAll ||= notice.isAll && notice.lastSeq > 1_000;
      });
      const other = await scene().openAnother();
      other.onCommit(() => {});
      await eventually("they hear of each other", async () => {
        await other.recordEvents({ events: [loggedIn(scene())] });
        return scene().notices.length > 0;
      });
      const jobs = Array.from({ length: 1_200 }, () => scene().newJob());
      await other.submitJobs({ jobs, maxPending: null, origin });
      await eventually("it is heard", () => isAll);
    });

    test("a quota is exact, however many stores submit and claim at once", async () => {
      const stores = [scene().store, await scene().openAnother(), await scene().openAnother()];
      const quota = { max_pending: 25, max_running: 7 };
      await scene().store.putQuota({ tenantId: "acme", quota, nowMs: scene().nowMs, origin });
      const outcomes = await Promise.all(
        Array.from({ length: 60 }, (_, n) =>
          stores[n % 3]!.submitJobs({
            jobs: [scene().newJob({ tenantId: "acme" })],
            maxPending: quota.max_pending,
            origin,
          }),
        ),
      );
      expect(outcomes.filter(({ kind }) => kind === "accepted")).toHaveLength(25);
      const claims = await Promise.all(
        Array.from({ length: 12 }, (_, n) => stores[n % 3]!.claimJobs({ ...scene().claimInput(3) })),
      );
      expect(claims.flatMap(({ claimed }) => claimed)).toHaveLength(7);
    });

    test("the end of a job wakes claims at a tenant's limit, even if another store has filled its place meanwhile", async () => {
      const other = await scene().openAnother();
      for (let made = 0; made < 4; made++) await scene().submit();
      const quota = { max_running: 2 };
      await scene().store.putQuota({ tenantId: "acme", quota, nowMs: scene().nowMs, origin });
      const { claimed } = await scene().claimUpTo(2);
      const [first, second] = claimed as [ClaimedJob, ClaimedJob];
      await scene().change(first, resultOf("{}"));
      await withClient(await under.url(), async (locker) => {
        await locker.query("BEGIN");
        await locker.query(
          "SELECT FROM writ.active JOIN writ.jobs USING (seq) WHERE id = $1 FOR UPDATE OF active",
          [second.job.id],
        );
        // This store looks at the counts, and then waits for the row.
        const ending = scene().change(second, resultOf("{}"));
        const waiting =
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        await eventually("the end waits", async () => (await locker.query(waiting)).rowCount === 1);
        expect((await other.claimJobs({ ...scene().claimInput(1) })).claimed).toHaveLength(1);
        expect((await other.claimJobs({ ...scene().claimInput(1) })).claimed).toEqual([]);
        scene().notices = [];
        await locker.query("COMMIT");
        await ending;
      });
      expect(scene().notices.some(({ ready }) => ready.length > 0)).toBe(true);
    });

    test("a reader who follows three writing stores by the notices of one misses nothing and sees nothing twice", async () => {
      const stores = [scene().store, await scene().openAnother(), await scene().openAnother()];
      for (const store of stores.slice(1)) store.onCommit(() => {});
      const seen: number[] = [];
      let lastSeq = 0;
      let reading = Promise.resolve();
      const read = async (): Promise<void> => {
        while ((seen.at(-1) ?? 0) < lastSeq) {
          const afterSeq = seen.at(-1) ?? 0;
          const page = await scene().store.readEvents({ afterSeq, throughSeq: lastSeq, limit: 50 });
          seen.push(...page.map(({ seq }) => seq));
        }
      };
      const leave = scene().store.onCommit((notice) => {
        lastSeq = Math.max(lastSeq, notice.lastSeq);
        reading = reading.then(read);
      });
      await Promise.all(
        stores.map(async (store) => {
          for (let n = 0; n < 60; n++)
            await store.submitJobs({ jobs: [scene().newJob(), scene().newJob()], maxPending: null, origin });
        }),
      );
      await eventually("all is heard of", () => seen.length === 360);
      leave();
      await reading;
      expect(seen).toEqual(Array.from({ length: 360 }, (_, n) => n + 1));
    });
  },
);

function loggedIn({ nowMs }: Scene) {
  const noCaller = { tenantId: null, jobId: null, ownerId: null, origin: null };
  return { event: "LOGIN_SUCCESS" as const, ts: nowMs, ...noCaller, details: {} };
}
