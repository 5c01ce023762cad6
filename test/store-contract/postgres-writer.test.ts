import type pg from "pg";
import { describe, expect, test } from "vitest";
import { plainWorker } from "../../src/core/jobs/queue-key.testing.ts";
import { Connection } from "../../src/store/postgres/connection/connection.ts";
import { openPostgresStore } from "../../src/store/postgres/open-store.ts";
import { eventually } from "../support/eventually.ts";
import { noPostgres, withClient } from "../support/postgres-cluster.ts";
import { postgresUnderTest } from "./postgres-under-test.ts";
import { macKey, origin } from "./scene.ts";
import { useScene } from "./use-scene.ts";

describe.skipIf(noPostgres !== undefined)(
  `calls that meet in the writer of PostgreSQL${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    const under = postgresUnderTest();
    const scene = useScene(() => under);

    const lockLog = "SELECT pg_advisory_xact_lock(1465010516, 1)";
    const lockDelayed = "LOCK TABLE writ.delayed IN ACCESS EXCLUSIVE MODE";

    /** While somebody else holds a lock. `waiting` resolves when so many calls wait for it. */
    async function whileLocked(
      text: string,
      act: (waiting: (calls: number) => Promise<unknown>, client: pg.Client) => Promise<void>,
    ) {
      await withClient(await under.url(), async (client) => {
        await client.query(`BEGIN; ${text}`);
        const waiting = (calls: number) =>
          eventually("they wait", async () => (await waitingIn(client)) >= calls);
        await act(waiting, client);
        await client.query("COMMIT");
      });
    }

    async function waitingIn(client: pg.Client): Promise<number> {
      const answer = await client.query<{ count: string }>(
        "SELECT count(*) AS count FROM pg_locks WHERE NOT granted",
      );
      return Number(answer.rows[0]!.count);
    }

    const claim = (parkAs: string) => ({ ...scene().claimInput(1), worker: plainWorker, parkAs });

    async function park(parkAs: string): Promise<void> {
      await scene().register({ id: "w1" });
      expect((await scene().store.claimJobs(claim(parkAs))).claimed).toEqual([]);
    }

    const steps: [string, (parkAs: string) => Promise<unknown>][] = [
      ["leaves", (claimId) => scene().store.unparkClaim({ claimId })],
      ["looks again", (parkAs) => scene().store.claimJobs(claim(parkAs))],
    ];
    for (const [what, step] of steps) {
      test(`a claim that ${what} is told first of jobs that are on their way to it`, async () => {
        await park("c1");
        const order: string[] = [];
        scene().store.onCommit(({ handedOver }) => {
          for (const { claimId } of handedOver) order.push(`${claimId} is given a job`);
        });
        let calls: Promise<unknown> | null = null;
        await whileLocked(lockLog, async (waiting) => {
          const submitted = scene().submit();
          await waiting(1);
          const answered = step("c1").then(() => order.push("c1 is answered"));
          calls = Promise.all([submitted, answered]);
          // A claim that finds nothing does not wait for the lock.
          expect((await scene().claimUpTo(1)).claimed).toEqual([]);
        });
        await calls;
        expect(order).toEqual(["c1 is given a job", "c1 is answered"]);
      });
    }

    /** Another hub is locked while a call of this one waits for the claimable jobs. Returns how many are leased then. */
    async function lockDownDuring(call: () => Promise<unknown>): Promise<number> {
      const other = await scene().openAnother();
      const { rules, nowMs } = scene();
      const lock = async () => {
        await other.lockDown({ reason: "r", userId: null, nowMs, origin });
        await other.recallJobs({ leaseKeyId: null, reason: "r", rules, limit: 10, origin: null });
      };
      let calls: Promise<unknown> | null = null;
      await whileLocked("LOCK TABLE writ.ready IN ACCESS EXCLUSIVE MODE", async (waiting) => {
        const called = call().catch(() => null);
        await waiting(1);
        const locked = lock();
        calls = Promise.all([called, locked]);
        // It has recalled what there was, or waits for the call.
        await Promise.race([locked, waiting(2)]);
      });
      await calls;
      return (await other.listQuotas()).reduce((sum, { active }) => sum + active, 0);
    }

    test("nothing is leased after a lockdown by a claim that was under way at another hub", async () => {
      await scene().submit();
      expect(await lockDownDuring(() => scene().claimUpTo(1))).toBe(0);
    });

    test("nothing is handed over after a lockdown by a submission that was under way at another hub", async () => {
      await park("c1");
      expect(await lockDownDuring(() => scene().submit())).toBe(0);
    });

    const actsOfReaper: [string, () => Promise<unknown>][] = [
      ["graceLeases", () => scene().store.graceLeases({ nowMs: scene().nowMs - 1, leaseMs: 60_000 })],
      ["shiftTimes", () => scene().store.shiftTimes({ byMs: 1 })],
      ["lockDown", () => scene().store.lockDown({ reason: "r", userId: null, nowMs: scene().nowMs, origin })],
    ];
    test.each(actsOfReaper)(
      "O-40 %s waits for a heartbeat that has locked its worker, and has locked no job by then",
      async (_name, act) => {
        await scene().register({ id: "w1" });
        await scene().submitAndClaim();
        let called: Promise<unknown> | null = null;
        await whileLocked("SELECT 1 FROM writ.workers FOR UPDATE", async (waiting, client) => {
          called = act();
          await waiting(1);
          // What the heartbeat needs next.
          await client.query("SELECT 1 FROM writ.active FOR UPDATE NOWAIT");
          await client.query("LOCK TABLE writ.ready IN ROW SHARE MODE NOWAIT");
        });
        await called;
      },
    );

    test("O-06: equal submissions at two hubs are one job, even if claims wait at both", async () => {
      const other = await scene().openAnother();
      await park("c1");
      expect((await other.claimJobs(claim("c2"))).claimed).toEqual([]);
      const equal = () => scene().newJob({ idempotencyKey: "once", requestHash: "the same" });
      const [first, second] = [equal(), equal()];
      let calls: Promise<unknown[]> | null = null;
      await whileLocked(lockLog, async (waiting) => {
        const submitted = scene().submitAll([first]);
        await waiting(1);
        // It has seen no such job, and waits for the row of the first one.
        const repeated = other.submitJobs({ jobs: [second], maxPending: null, origin });
        calls = Promise.all([submitted, repeated]);
        await waiting(2);
      });
      expect(await calls).toMatchObject([
        { kind: "accepted", jobs: [{ id: first.id, existed: false }] },
        { kind: "accepted", jobs: [{ id: first.id, existed: true }] },
      ]);
    });

    test("O-06: every statement after a failed one is blamed on that one, until the transaction ends", async () => {
      const sql = await Connection.open({ url: await under.url() });
      const addQueue = (key: string) =>
        sql.run("INSERT INTO queues (key, tenant_id, type) VALUES ($1, 't', 't')", key);
      await addQueue("taken");
      const answers = await Promise.allSettled(
        sql.together(() => [
          sql.run("BEGIN"),
          addQueue("taken"),
          addQueue("free"),
          sql.all("SELECT 1"),
          sql.script("SELECT 1"),
          sql.commit(),
          sql.run("BEGIN"),
          addQueue("free"),
          sql.commit(),
        ]),
      );
      await sql.close();
      const codes = answers.map((answer) => (answer.status === "rejected" ? answer.reason.code : "ok"));
      const taken = ["23505", "23505", "23505", "23505", "23505"];
      expect(codes).toEqual(["ok", ...taken, "ok", "ok", "ok"]);
    });

    test("a claim whose connection is cut fails, and nothing else does", async () => {
      await scene().register({ id: "w1" });
      await whileLocked(lockDelayed, async (waiting, client) => {
        const failed = scene()
          .claimUpTo(1)
          .catch((error: unknown) => error);
        await waiting(1);
        await client.query("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted");
        expect(await failed).toMatchObject({ code: "STORE_UNAVAILABLE" });
      });
      expect((await scene().claimUpTo(1)).claimed).toEqual([]);
    });

    test("a call does not wait for claims that wait for each other", async () => {
      await scene().register({ id: "w1" });
      let claims: Promise<unknown> | null = null;
      await whileLocked(lockDelayed, async (waiting) => {
        const first = scene().claimUpTo(1);
        await waiting(1);
        claims = Promise.all([first, scene().claimUpTo(1)]);
        // By now the second one waits for the first.
        await scene().store.getQuota({ tenantId: "acme" });
        await scene().store.recordEvents({ events: [] });
      });
      await claims;
    });

    test("calls of one kind leave room for the others, however many there are", async () => {
      const callsMax = 3_000;
      let calls = 0;
      let isAnswered = false;
      const callers = Array.from({ length: 16 }, async () => {
        for (; calls < callsMax && !isAnswered; calls++) await scene().store.ping();
      });
      await eventually("they are under way", () => calls > 100);
      await scene().submit();
      isAnswered = true;
      await Promise.all(callers);
      expect(calls).toBeLessThan(callsMax);
    });

    test("what was asked for before the store is closed is answered", async () => {
      const store = await openPostgresStore({ url: await under.url(), macKey });
      await store.ping();
      const jobs = Array.from({ length: 20 }, () => scene().newJob());
      const asked = jobs.map((job) => store.submitJobs({ jobs: [job], maxPending: null, origin }));
      const pings = Array.from({ length: 20 }, () => store.ping());
      const closed = store.close();
      expect((await Promise.allSettled([...asked, ...pings])).map(({ status }) => status)).not.toContain(
        "rejected",
      );
      await closed;
    });
  },
);
