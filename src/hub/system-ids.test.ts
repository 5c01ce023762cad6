import { expect, test } from "vitest";
import { systemIds } from "./system-ids.ts";

test("no record id looks like an option of a command", () => {
  const ids = systemIds();
  const made = Array.from({ length: 5_000 }, () => ids.recordId());
  expect(new Set(made).size).toBe(made.length);
  expect(made.filter((id) => !/^\w[\w-]{11}$/.test(id))).toEqual([]);
});
