import { describe, expect, it } from "vitest";
import { Period } from "../../src/core/statistics/period.ts";
import { failureOf, resultOf, startMs } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

const [secondMs, minuteMs, hourMs] = [1_000, 60_000, 3_600_000];

export function describeStatistics(create: () => StoreUnderTest): void {
  describe("statistics", () => {
    const scene = useScene(create);

    const submitted = (count: number): string => {
      const period = new Period();
      for (let i = 0; i < count; i++)
        period.add({ tenantId: "acme", type: "build", kind: "submitted", count: 1 }, 1);
      return period.text();
    };
    const add = (start: number, count: number, tenantId: string | null = "acme") =>
      scene().store.addStatistics({
        periods: [{ tenantId, start, period: submitted(count) }],
        nowMs: scene().nowMs,
      });
    const read = async (lengthMs: number, tenantId: string | null = "acme") => {
      const stored = await scene().store.readStatistics({ tenantId, lengthMs, from: 0, until: 1e15 });
      return stored.map(({ start, period }) => [start, Period.read(period).total.counts.submitted]);
    };
    const base = startMs - (startMs % hourMs);

    it("are added to periods of every length, also by another hub", async () => {
      scene().nowMs = base + 70 * secondMs;
      const another = await scene().openAnother();
      await add(base, 1);
      await add(base + 5 * secondMs, 2);
      const late = { tenantId: "acme", start: base + 65 * secondMs, period: submitted(4) };
      await another.addStatistics({ periods: [late], nowMs: scene().nowMs });
      await scene().reopen();
      expect(await read(5 * secondMs)).toEqual([
        [base, 1],
        [base + 5 * secondMs, 2],
        [base + 65 * secondMs, 4],
      ]);
      expect(await read(minuteMs)).toEqual([
        [base, 3],
        [base + minuteMs, 4],
      ]);
      expect(await read(hourMs)).toEqual([[base, 7]]);
    });

    it("are added by two hubs at once, to periods that neither has begun", async () => {
      scene().nowMs = base;
      const another = await scene().openAnother();
      const tenants = ["acme", "other", null];
      const of = (names: (string | null)[]) =>
        names.map((tenantId) => ({ tenantId, start: base, period: submitted(1) }));
      await Promise.all([
        scene().store.addStatistics({ periods: of(tenants), nowMs: base }),
        another.addStatistics({ periods: of(tenants.toReversed()), nowMs: base }),
      ]);
      for (const tenantId of tenants) expect(await read(hourMs, tenantId)).toEqual([[base, 2]]);
    });

    it("are apart for each tenant, and for all together", async () => {
      await add(base, 1);
      await add(base, 2, "other");
      await add(base, 3, null);
      expect(await read(hourMs)).toEqual([[base, 1]]);
      expect(await read(hourMs, "other")).toEqual([[base, 2]]);
      expect(await read(hourMs, null)).toEqual([[base, 3]]);
    });

    it("are forgotten after an hour, a day and 30 days", async () => {
      scene().nowMs = base;
      await add(base, 1);
      scene().nowMs = base + 2 * hourMs;
      await add(base + 2 * hourMs, 1);
      expect([await read(5 * secondMs), await read(minuteMs), await read(hourMs)]).toMatchObject([
        { length: 1 },
        { length: 2 },
        { length: 2 },
      ]);
      scene().nowMs = base + 26 * hourMs;
      await add(base + 26 * hourMs, 1);
      expect([await read(minuteMs), await read(hourMs)]).toMatchObject([{ length: 2 }, { length: 3 }]);
      scene().nowMs = base + 31 * 24 * hourMs;
      await add(scene().nowMs, 1);
      expect(await read(hourMs)).toMatchObject({ length: 2 });
    });

    it("are told with each commit: what was submitted, waited, ended", async () => {
      const observed = () => scene().notices.flatMap((notice) => notice.observed);
      const claimed = await scene().submitAndStart();
      scene().nowMs += 250;
      await scene().change(claimed, resultOf("1"));
      const job = { tenantId: "acme", type: "build" };
      expect(observed()).toEqual([
        { ...job, kind: "submitted", count: 1 },
        { ...job, kind: "claimed", waitMs: 0 },
        { ...job, kind: "completed", runMs: 250 },
      ]);
      scene().notices = [];
      const next = await scene().submitAndStart();
      await scene().change(next, { ...failureOf("EXECUTION_ERROR"), reason: "exited with code 3" });
      const kinds = observed().map(({ kind }) => kind);
      expect(kinds.slice(0, 2)).toEqual(["submitted", "claimed"]);
    });

    it("are told once for all jobs of a batch that have one tenant and type", async () => {
      await scene().submitAll(["build", "test", "build"].map((type) => scene().newJob({ type })));
      const observed = scene().notices.flatMap((notice) => notice.observed);
      expect(observed).toEqual([
        { tenantId: "acme", type: "build", kind: "submitted", count: 2 },
        { tenantId: "acme", type: "test", kind: "submitted", count: 1 },
      ]);
    });
  });
}
