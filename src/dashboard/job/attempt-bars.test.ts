import { expect, test } from "vitest";
import type { EventView, JobView } from "../../contract/shapes/view-shapes.ts";
import { axisTexts } from "./attempt-bars.tsx";
import { attemptsOf } from "./attempts.ts";

const from = new Date().setHours(12, 0, 0, 0);

test("the marks of a short job show the time since its submission, and no two are equal", () => {
  const [first, ...others] = axisTexts(from, from + 23, false);
  expect(first).toBe("12:00:00");
  expect(others).toEqual(["+5.8ms", "+12ms", "+17ms", "+23ms"]);
  expect(axisTexts(from, from + 4_000, true)).toEqual(["12:00:00", "+1.0s", "+2.0s", "+3.0s", "now"]);
  for (const ms of [1, 9, 50, 150, 999, 1_500, 7_999, 8_000, 60_000])
    expect(new Set(axisTexts(from, from + ms, false)).size).toBe(5);
});

test("the marks of a longer job are times of day", () => {
  const marks = ["12:00:00", "12:01:00", "12:02:00", "12:03:00", "12:04:00"];
  expect(axisTexts(from, from + 240_000, false)).toEqual(marks);
});

test("an attempt has run from its start, or from its claim if no start was reported", () => {
  const event = (name: string, ts: number) => ({ event: name, ts, details: { attempt: 1 } }) as never;
  const job = { created_at: 0, fail_history: [], status: "completed", completed_at: 23 } as never as JobView;
  const seen: EventView[] = [event("JOB_ASSIGNED", 5), event("JOB_STARTED", 15), event("JOB_COMPLETED", 23)];
  expect(attemptsOf(job, seen)).toMatchObject([{ claimedAt: 5, startedAt: 15, endedAt: 23 }]);
  expect(attemptsOf(job, [seen[0]!, seen[2]!])).toMatchObject([{ startedAt: 5, endedAt: 23 }]);
});
