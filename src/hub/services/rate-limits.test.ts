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

/** The milliseconds at which a call passes within some minutes, with ten calls a second. */
function passes(minutes: number, take: (limits: RateLimits) => number): number[] {
  const { limits, pass } = limitsAt();
  const passed: number[] = [];
  for (let ms = 0; ms < minutes * 60_000; ms += 100) {
    if (take(limits) === 0) passed.push(ms);
    pass(100);
  }
  return passed;
}

test("a limit of one a minute lets one call pass in each minute, including the first", () => {
  const passed = passes(3, (limits) => limits.take("slow", 1 / 60));
  expect(passed).toHaveLength(3);
  for (const [index, ms] of passed.entries()) {
    if (index > 0) expect(ms - passed[index - 1]!).toBeGreaterThanOrEqual(60_000);
  }
});

test("a burst passes at once, and further calls at the rate", () => {
  const passed = passes(1, (limits) => limits.take("logins", 20 / 60, 1, 20));
  expect(passed.length).toBeGreaterThan(20);
  expect(passed.length).toBeLessThanOrEqual(40);
});

test("a second's worth of calls passes, the next one passes after its wait, and other callers are not affected", () => {
  const { limits, pass } = limitsAt();
  for (let count = 0; count < 4; count++) expect(limits.take("a", 4)).toBe(0);
  expect(limits.take("a", 4)).toBe(250);
  expect(limits.take("b", 4)).toBe(0);
  pass(125);
  expect(limits.take("a", 4)).toBe(125);
  pass(125);
  expect(limits.take("a", 4)).toBe(0);
});

test("a batch larger than the bucket passes when the bucket is full, and leaves a debt", () => {
  const { limits, pass } = limitsAt();
  expect(limits.take("batch", 2, 50)).toBe(0);
  expect(limits.take("batch", 2)).toBe(24_500);
  pass(24_500);
  expect(limits.take("batch", 2)).toBe(0);
});

test("each of several hubs lets an equal share pass", () => {
  let hubs = 1;
  const limits = new RateLimits({ ...systemClock, monotonicMs: () => 0 }, () => hubs);
  hubs = 4;
  for (let count = 0; count < 2; count++) expect(limits.take("a", 8)).toBe(0);
  expect(limits.take("a", 8)).toBe(500);
  expect(limits.take("slow", 1)).toBe(0);
  expect(limits.take("slow", 1)).toBe(4_000);
});
