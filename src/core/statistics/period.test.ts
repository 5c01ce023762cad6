import { describe, expect, it } from "vitest";
import { Histogram } from "./histogram.ts";
import type { Observation } from "./observation.ts";
import { Period } from "./period.ts";

const job = { tenantId: "acme", type: "build" };

function periodOf(...observed: Observation[]): Period {
  const period = new Period();
  for (const observation of observed) period.add(observation, 1_000);
  return period;
}

describe("a histogram", () => {
  it("knows quantiles to a tenth, from milliseconds to days", () => {
    for (const ms of [1, 7, 250, 4_000, 90_000, 86_400_000, 3_000_000_000]) {
      const histogram = new Histogram();
      for (let i = 0; i < 10; i++) histogram.add(ms);
      expect(Math.abs(histogram.quantile(0.5)! - ms) / ms).toBeLessThanOrEqual(0.15);
    }
    expect(new Histogram().quantile(0.5)).toBeNull();
  });

  it("finds the one in twenty that takes long", () => {
    const histogram = new Histogram();
    for (let i = 0; i < 90; i++) histogram.add(10);
    for (let i = 0; i < 10; i++) histogram.add(5_000);
    expect(histogram.quantile(0.5)).toBeLessThan(12);
    expect(histogram.quantile(0.95)).toBeGreaterThan(4_000);
  });

  it("is the same whether it was counted at once or in parts", () => {
    const [whole, left, right] = [new Histogram(), new Histogram(), new Histogram()];
    for (let i = 0; i < 1_000; i++) {
      whole.add(i * i);
      (i % 3 === 0 ? left : right).add(i * i);
    }
    left.merge(Histogram.read(right.text()));
    for (const part of [0, 0.1, 0.5, 0.95, 1]) expect(left.quantile(part)).toBe(whole.quantile(part));
  });
});

describe("a period", () => {
  it("counts what happens, in total and by type, and why jobs failed", () => {
    const period = periodOf(
      { ...job, kind: "submitted", count: 1 },
      { ...job, kind: "claimed", waitMs: 40 },
      { ...job, kind: "failed", runMs: 900, code: "WORKER_EXIT_ERROR", reason: "exited with code 3" },
      { ...job, type: "test", kind: "cancelled", runMs: null },
      { ...job, type: "test", kind: "completed", runMs: 5 },
    );
    expect(period.total.counts).toEqual({ submitted: 1, completed: 1, failed: 1, cancelled: 1 });
    expect(period.of("build").counts).toMatchObject({ submitted: 1, failed: 1, completed: 0 });
    expect(period.of("test").counts).toMatchObject({ cancelled: 1, completed: 1 });
    const cause = { type: "build", code: "WORKER_EXIT_ERROR", reason: "exited with code 3" };
    expect(period.causes()).toEqual([{ ...cause, jobs: 1, lastAt: 1_000 }]);
    expect(period.failuresOf(cause)).toBe(1);
  });

  it("is read back as it was written, and adds to another", () => {
    const one = periodOf(
      { ...job, kind: "submitted", count: 1 },
      { ...job, kind: "failed", runMs: 9, code: "C", reason: "r" },
    );
    one.sample(null, { depth: 7, oldestWaitMs: 3_000 });
    const two = Period.read(one.text());
    expect(two.text()).toBe(one.text());
    two.merge(one);
    expect(two.total.counts).toMatchObject({ submitted: 2, failed: 2 });
    expect(two.total.gauges).toEqual({ depth: 7, oldestWaitMs: 3_000 });
    expect(two.causes()).toMatchObject([{ jobs: 2 }]);
  });

  it("keeps the busiest 50 types and counts the others together", () => {
    const period = new Period();
    for (let i = 0; i < 3_000; i++) {
      const type = `t${i}`;
      for (let n = 0; n < (i < 50 ? 3 : 1); n++)
        period.add({ ...job, type, kind: "submitted", count: 1 }, 1_000);
    }
    const { named, other } = Period.read(period.text()).byType();
    expect(named.map(([type]) => type).sort()).toEqual(Array.from({ length: 50 }, (_, i) => `t${i}`).sort());
    expect(other.counts.submitted).toBe(2_950);
    expect(period.text().length).toBeLessThan(10_000);
  });
});
