import { expect, test } from "vitest";
import { formatPart } from "./format-count.ts";

test("a list that was cut says of how many, unless fewer were counted than are shown", () => {
  expect(formatPart(50, { count: 2_031, isMore: false })).toBe("50 of 2,031");
  expect(formatPart(50, { count: 10_000, isMore: true })).toBe("50 of more than 10,000");
  expect(formatPart(50, { count: 50, isMore: true })).toBe("50 of more than 50");
  for (const total of [undefined, { count: 0, isMore: true }, { count: 49, isMore: true }])
    expect(formatPart(50, total)).toBe("50 shown");
});
