import { expect, test } from "vitest";
import { scheduledFor } from "./scheduled-for.ts";

test.each([
  {},
  { metadata: {} },
  { metadata: { schedule: "x" } },
  { metadata: { schedule: { scheduled_for: "a\nb" } } },
])("%j was made for no time", (document) => {
  expect(scheduledFor(document)).toBeUndefined();
});

test("a job of a schedule knows its time", () => {
  const time = "2026-01-01T02:00:00.000Z";
  expect(scheduledFor({ metadata: { schedule: { name: "nightly", scheduled_for: time } } })).toBe(time);
});
