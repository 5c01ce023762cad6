import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isActive } from "../../src/core/jobs/job.ts";
import type { LaneTerm } from "../../src/core/lanes/lane.ts";
import { lanesOf } from "../../src/core/lanes/lane-move.ts";
import type { ClaimedJob } from "../../src/store/store.ts";
import { failureOf, leaseMs, resultOf, Scene } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

const stopGraceMs = 5_000;
const termsOf = (...lanes: LaneTerm[]) => JSON.stringify({ lanes });
const one = termsOf({ name: "one", max_running: 1 });

/** Concurrency keys and rate limits. Why: ADR 0137. */
export function describeLanes(create: () => StoreUnderTest): void {
  describe("a lane", () => {
    const scene = useScene(create);
    const lane = async (name: string) =>
      (await scene().store.getLanes({ tenantId: "acme", names: [name] }))[0] ?? null;
    const open = () => scene().store.promoteJobs({ nowMs: scene().nowMs, limit: 100 });

    it("refuses other numbers of another user, and takes those of its own", async () => {
      await scene().submit({ terms: one });
      const other = termsOf({ name: "one", max_running: 5 });
      const job = scene().newJob({ terms: other, userId: "u2" });
      expect(await scene().submitAll([scene().newJob(), job])).toMatchObject({
        kind: "lane_differs",
        index: 1,
        lane: { name: "one", maxRunning: 1, rate: null },
      });
      expect((await scene().store.ping()).jobs.pending).toBe(1);
      await scene().submit({ terms: one, userId: "u2" });
      await scene().submit({ terms: other });
      expect(await lane("one")).toMatchObject({ maxRunning: 5, userId: "u1", jobs: 3 });
    });

    it("lets no more jobs run than its limit, across types, and the next one when one has ended", async () => {
      const ids = [
        await scene().submit({ terms: one }),
        await scene().submit({ terms: one, type: "other" }),
        await scene().submit({ terms: one, priority: 9 }),
      ];
      const free = await scene().submit();
      const [first, second] = (await scene().claimUpTo(9)).claimed;
      expect([first!.job.id, second!.job.id].toSorted()).toEqual([ids[0], free].toSorted());
      expect(await scene().claimIds(9)).toEqual([]);
      const inLane = first!.job.id === free ? second! : first!;
      await scene().change(inLane, resultOf("1"));
      const [third] = (await scene().claimUpTo(9)).claimed;
      expect(third!.job.id).toBe(ids[2]);
      await scene().reopen();
      expect(await scene().claimIds(9)).toEqual([]);
      await scene().change(third!, resultOf("1"));
      expect(await scene().claimIds(9)).toEqual([ids[1]]);
    });

    it("is gone when no job names it any more", async () => {
      const claimed = await scene().submitAndStart({ terms: one });
      expect(await lane("one")).toMatchObject({ active: 1, jobs: 1, holders: [{ jobId: claimed.job.id }] });
      await scene().change(claimed, resultOf("1"));
      expect(await lane("one")).toBeNull();
    });

    it("hazard 11: gets a place back once, whatever is said how often", async () => {
      const first = await scene().submitAndStart({ terms: one });
      await scene().submit({ terms: one });
      for (let times = 0; times < 3; times++) await scene().change(first, resultOf("1"));
      await scene().change(first, failureOf("EXECUTION_ERROR"));
      await scene().cancel(first.job.id);
      expect((await scene().claimIds(9)).length).toBe(1);
      expect((await lane("one"))!.active).toBe(1);
    });

    it("hazard 12: keeps the place of an attempt that the hub has ended until its worker must have stopped", async () => {
      const lost = await scene().submitAndStart({ terms: one, maxAttempts: 1 });
      const next = await scene().submit({ terms: one });
      scene().nowMs += leaseMs + 1;
      await scene().reap();
      expect((await scene().job(lost.job.id)).status).toBe("failed");
      scene().nowMs += leaseMs + stopGraceMs - 1;
      await open();
      expect(await scene().claimIds(9)).toEqual([]);
      scene().nowMs += 1;
      await open();
      expect(await scene().claimIds(9)).toEqual([next]);
    });

    it("hazard 13: lets the jobs of each queue go on, also when the first of another has no worker", async () => {
      await scene().submit({ terms: one, facts: { tags: ["gpu"] } });
      const fitting = await scene().submit({ terms: one });
      expect(await scene().claimIds(9)).toEqual([fitting]);
    });

    it("hazard 14: lets the next one in when a job that could be claimed is held, or cancelled", async () => {
      const two = termsOf({ name: "two", max_running: 1 });
      const running = await scene().submitAndStart({ terms: two });
      const [held, cancelled, last] = [
        await scene().submit({ terms: two }),
        await scene().submit({ terms: two }),
        await scene().submit({ terms: two }),
      ];
      await scene().change(running, resultOf("1"));
      await scene().changeJob(held, { act: "hold" });
      await scene().cancel(cancelled);
      expect(await scene().claimIds(9)).toEqual([last]);
      await scene().changeJob(held, { act: "resume" });
      expect(await scene().claimIds(9)).toEqual([]);
    });

    it("hazard 15: starts jobs at its rate, and opens by itself", async () => {
      const slow = termsOf({ name: "slow", rate: { limit: 2, period_sec: 60 } });
      const ids: string[] = [];
      for (let index = 0; index < 3; index++) ids.push(await scene().submit({ terms: slow }));
      const first = (await scene().claimUpTo(9)).claimed;
      expect(first.map(({ job }) => job.id)).toEqual([ids[0]]);
      await scene().change(first[0]!, resultOf("1"));
      expect(await scene().claimIds(9)).toEqual([]);
      expect((await open()).nextRunAt).toBe(scene().nowMs + 30_000);
      scene().nowMs += 29_999;
      await open();
      expect(await scene().claimIds(9)).toEqual([]);
      scene().nowMs += 1;
      await open();
      expect(await scene().claimIds(9)).toEqual([ids[1]]);
    });

    it("hands a job over to a waiting claim only if it has a place", async () => {
      const claim = { ...scene().claimInput(5), parkAs: "waits" };
      expect((await scene().store.claimJobs(claim)).claimed).toEqual([]);
      await scene().submitAll([scene().newJob({ terms: one }), scene().newJob({ terms: one })]);
      expect((await lane("one"))!.active).toBeLessThanOrEqual(1);
    });
  });
}

const names = ["a", "b", "c"];
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("submit" as const),
      lanes: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 3 }),
      delayMs: fc.constantFrom(0, 0, 20_000),
      queue: fc.constantFrom("x", "y"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("claim" as const), max: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("say" as const),
      which: fc.nat(9),
      word: fc.constantFrom("start", "result", "fail", "release"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("order" as const),
      which: fc.nat(9),
      act: fc.constantFrom("cancel" as const, "retry" as const, "hold" as const, "resume" as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(1_000, 20_000, 70_000) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Random acts, each report said twice; what must always be true of lanes is asked after each. Hazards 10, 11 and 14. */
export function describeLaneModel(name: string, create: () => StoreUnderTest, runs: number): void {
  describe(`lanes on ${name}`, () => {
    it("hazard 10: are never exceeded, count exactly, and let in every job that may start", {
      timeout: 300_000,
    }, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), async (steps) => {
          const run = new LaneRun(await Scene.open(create()));
          try {
            for (const taken of steps) await run.take(taken);
            await run.drain();
          } finally {
            await run.scene.end();
          }
        }),
        { numRuns: runs },
      );
    });
  });
}

const limits = { a: 1, b: 2, c: 3 } as Record<string, number>;

class LaneRun {
  readonly scene: Scene;
  readonly #ids: string[] = [];
  readonly #claims: ClaimedJob[] = [];

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async take(taken: Step): Promise<void> {
    const { scene } = this;
    if (taken.kind === "submit") {
      const lanes = taken.lanes.map((each) => ({ name: each, max_running: limits[each] }));
      const terms = lanes.length === 0 ? null : termsOf(...lanes);
      this.#ids.push(await scene.submit({ terms, type: taken.queue, runAt: scene.nowMs + taken.delayMs }));
    }
    if (taken.kind === "claim") this.#claims.push(...(await scene.claimUpTo(taken.max)).claimed);
    if (taken.kind === "say") await this.#say(taken.which, taken.word);
    const id =
      taken.kind === "order" ? this.#ids.at(-1 - (taken.which % Math.max(1, this.#ids.length))) : undefined;
    if (taken.kind === "order" && id !== undefined)
      for (let times = 0; times < 2; times++) await scene.changeJob(id, { act: taken.act });
    if (taken.kind === "pass") await this.#pass(taken.ms);
    if (taken.kind === "restart") await scene.reopen();
    await this.#check();
  }

  async #say(which: number, word: string): Promise<void> {
    const claimed = this.#claims.at(-1 - (which % Math.max(1, this.#claims.length)));
    if (claimed === undefined) return;
    const change =
      word === "start"
        ? ({ act: "start", isolation: null } as const)
        : word === "result"
          ? resultOf("1")
          : word === "fail"
            ? failureOf("EXECUTION_ERROR")
            : ({ act: "release", reason: "drain" } as const);
    for (let times = 0; times < 2; times++) await this.scene.change(claimed, change);
  }

  async #pass(ms: number): Promise<void> {
    this.scene.nowMs += ms;
    await this.scene.reap();
    await this.scene.store.promoteJobs({ nowMs: this.scene.nowMs, limit: 100 });
  }

  async #check(): Promise<void> {
    const lanes = await this.scene.store.getLanes({ tenantId: "acme", names });
    const jobs = await Promise.all(this.#ids.map((id) => this.scene.job(id)));
    for (const name of names) {
      const inLane = jobs.filter((job) => lanesOf(job).some((lane) => lane.name === name));
      const running = inLane.filter((job) => isActive(job.status)).length;
      const unfinished = inLane.filter((job) => isActive(job.status) || job.status === "pending").length;
      const lane = lanes.find((each) => each.name === name);
      const places = lane?.holders ?? [];
      expect([name, lane?.jobs ?? 0]).toEqual([name, unfinished]);
      expect([name, lane?.active ?? 0]).toEqual([name, places.length]);
      expect([name, places.filter(({ until }) => until === null).length]).toEqual([name, running]);
      expect(lane?.active ?? 0).toBeLessThanOrEqual(limits[name]!);
    }
  }

  /** Liveness: as long as time passes and workers work, everything that is not held comes to its end. */
  async drain(): Promise<void> {
    for (let round = 0; round < 200; round++) {
      await this.#pass(70_000);
      const { claimed } = await this.scene.claimUpTo(50);
      for (const each of claimed) await this.scene.change(each, resultOf("1"));
      await this.#check();
      const jobs = await Promise.all(this.#ids.map((id) => this.scene.job(id)));
      if (jobs.every((job) => job.heldAt !== null || (job.status !== "pending" && !isActive(job.status))))
        return;
    }
    throw new Error("jobs wait although nothing holds them");
  }
}
