import { expect, test } from "vitest";
import { systemClock } from "../../runtime/clock/clock.ts";
import { RateLimits } from "./rate-limits.ts";

function limitsAt(): { limits: RateLimits; pass(ms: number): void } {
  let nowMs = 0;
  return {
    limits: new RateLimits({ ...systemClock, monotonicMs: () => nowMs }),
    pass: (ms) => {
      nowMs += ms;
    },
  };
}

/** At which milliseconds of so many minutes a call passes, when one comes ten times a second. */
function passes(minutes: number, take: (limits: RateLimits) => number): number[] {
  const { limits, pass } = limitsAt();
  const passed: number[] = [];
  for (let ms = 0; ms < minutes * 60_000; ms += 100) {
    if (take(limits) === 0) passed.push(ms);
    pass(100);
  }
  return passed;
}

test("one a minute is one in each minute, also in the first", () => {
  const passed = passes(3, (limits) => limits.take("slow", 1 / 60));
  expect(passed).toHaveLength(3);
  for (const [index, ms] of passed.entries()) {
    if (index > 0) expect(ms - passed[index - 1]!).toBeGreaterThanOrEqual(60_000);
  }
});

test("a burst passes at once, and the rest at its rate", () => {
  const passed = passes(1, (limits) => limits.take("logins", 20 / 60, 1, 20));
  expect(passed.length).toBeGreaterThan(20);
  expect(passed.length).toBeLessThanOrEqual(40);
});

test("a full second's worth passes, the next has to wait as long as it is told, and others do not", () => {
  const { limits, pass } = limitsAt();
  for (let count = 0; count < 4; count++) expect(limits.take("a", 4)).toBe(0);
  expect(limits.take("a", 4)).toBe(250);
  expect(limits.take("b", 4)).toBe(0);
  pass(125);
  expect(limits.take("a", 4)).toBe(125);
  pass(125);
  expect(limits.take("a", 4)).toBe(0);
});

test("a batch larger than the bucket passes when that is full, and leaves a debt", () => {
  const { limits, pass } = limitsAt();
  expect(limits.take("batch", 2, 50)).toBe(0);
  expect(limits.take("batch", 2)).toBe(24_500);
  pass(24_500);
  expect(limits.take("batch", 2)).toBe(0);
});

test("with several hubs each lets its part pass", () => {
  let hubs = 1;
  const limits = new RateLimits({ ...systemClock, monotonicMs: () => 0 }, () => hubs);
  hubs = 4;
  for (let count = 0; count < 2; count++) expect(limits.take("a", 8)).toBe(0);
  expect(limits.take("a", 8)).toBe(500);
  expect(limits.take("slow", 1)).toBe(0);
  expect(limits.take("slow", 1)).toBe(4_000);
});
