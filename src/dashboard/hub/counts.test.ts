import { expect, test } from "vitest";
import { countLabel } from "./counts.ts";

test.each([
  [{ count: 0, is_more: false }, "0"],
  [{ count: 1_284, is_more: false }, "1,284"],
  [{ count: 84_000, is_more: false }, "≈84 k"],
  [{ count: 10_000, is_more: true }, "≥10 k"],
  [{ count: 12, is_more: true }, "≥12"],
  [{ count: 0, is_more: true }, "?"],
])("a count is shown as far as it is known (%#)", (count, label) => {
  expect(countLabel(count)).toBe(label);
});
