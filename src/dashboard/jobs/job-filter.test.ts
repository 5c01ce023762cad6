import { expect, test } from "vitest";
import { couldShow, foundAs, hubFilter, readWords, statesOf, timeProblem } from "./job-filter.ts";

test("a time that is none is refused in words", () => {
  expect(timeProblem(readWords("since:abc"))).toBe(
    'since: "abc" is not a time; use 15m, 1h, 7d, today or milliseconds',
  );
  expect(timeProblem(readWords("until:yesterday"))).toContain("until");
  for (const words of ["since:1h", "since:today until:5m", "since:1700000000000", "text"])
    expect(timeProblem(readWords(words))).toBeNull();
});

test("failed jobs are those that were not cancelled, and cancelled ones have a state of their own", () => {
  const asked = (state: string) => hubFilter({ state }, 0);
  expect(asked("failed,dead")).toEqual({ status: ["failed", "quarantined"], fail_code: "!CANCELLED" });
  expect(asked("cancelled")).toEqual({ status: ["failed"], fail_code: "CANCELLED" });
  expect(asked("failed,cancelled,pending")).toEqual({ status: ["pending", "failed"] });
  expect(asked("pending")).toEqual({ status: ["pending"] });
  expect(hubFilter({ state: "failed", code: "TIMEOUT" }, 0).fail_code).toBe("TIMEOUT");
});

test("cancelled jobs are left out beside states other than failed, and the chips say so", () => {
  expect(statesOf({ state: "pending,cancelled" })).toEqual(["pending"]);
  expect(statesOf({ state: "cancelled" })).toEqual(["cancelled"]);
});

test("an event of a cancelled job is no news for a list of failed ones", () => {
  const event = { status: "failed", fail_code: "CANCELLED", type: "t", worker_id: null } as never;
  expect(foundAs(event)).toBe("cancelled");
  expect(couldShow({ state: "failed" }, event)).toBe(false);
  expect(couldShow({ state: "cancelled" }, event)).toBe(true);
});
