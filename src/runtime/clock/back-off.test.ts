import { expect, test } from "vitest";
import { backOffMs, withJitter } from "./back-off.ts";

const limits = { firstMs: 100, maxMs: 5_000 };

test("pauses double and stop at the ceiling, however often it fails", () => {
  const pauses = [0, 1, 2, 5, 6, 1e9].map((failures) => backOffMs(failures, limits));
  expect(pauses).toEqual([100, 200, 400, 3_200, 5_000, 5_000]);
});

test("jitter takes away at most half", () => {
  expect(withJitter(100, () => 0)).toBe(50);
  expect(backOffMs(1, { ...limits, random: () => 0.5 })).toBe(150);
  expect(backOffMs(9, { ...limits, random: () => 1 })).toBe(5_000);
});
