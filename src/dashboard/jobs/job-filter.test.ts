import { expect, test } from "vitest";
import { filterText } from "./filter-text.ts";
import {
  couldShow,
  filterProblem,
  foundAs,
  hubFilter,
  mayActOnAll,
  readWords,
  statesOf,
  writeWords,
} from "./job-filter.ts";

test("an invalid time is refused with a message", () => {
  expect(filterProblem(readWords("since:abc"))).toBe(
    'since: "abc" is not a time; use 15m, 1h, 7d, today or milliseconds',
  );
  expect(filterProblem(readWords("until:yesterday"))).toContain("until");
  for (const words of ["since:1h", "since:today until:5m", "since:1700000000000", "text"])
    expect(filterProblem(readWords(words))).toBeNull();
});

test("an unknown state is refused with a message and stays visible in the filter", () => {
  expect(filterProblem(readWords("state:weird"))).toBe(
    'state: "weird" is not a state; use pending, scheduled, assigned, running, completed, failed, quarantined, cancelled',
  );
  expect(filterText({ state: "failed,weird" })).toBe("state is failed, weird");
  expect(filterProblem(readWords("state:dead,cancelled"))).toBeNull();
});

test("acts on all matching jobs are not offered while a part of the filter is ignored", () => {
  for (const filter of [{ type: "video" }, { state: "failed" }, { since: "1h" }])
    expect(mayActOnAll(filter)).toBe(true);
  for (const filter of [{}, { state: "weird" }, { state: "failed,weird" }, { type: "video", since: "abc" }])
    expect(mayActOnAll(filter)).toBe(false);
});

test("the state failed leaves out cancelled jobs, which have a state of their own", () => {
  const asked = (state: string) => hubFilter({ state }, 0);
  expect(asked("failed,dead")).toEqual({ status: ["failed", "quarantined"], fail_code: "!CANCELLED" });
  expect(asked("cancelled")).toEqual({ status: ["failed"], fail_code: "CANCELLED" });
  expect(asked("failed,cancelled,pending")).toEqual({ status: ["waiting", "failed"] });
  expect(asked("pending")).toEqual({ status: ["waiting"] });
  expect(hubFilter({ state: "failed", code: "TIMEOUT" }, 0).fail_code).toBe("TIMEOUT");
});

test("cancelled jobs are left out beside states other than failed, and the chips say so", () => {
  expect(statesOf({ state: "pending,cancelled" })).toEqual(["pending"]);
  expect(statesOf({ state: "cancelled" })).toEqual(["cancelled"]);
});

test("an event of a cancelled job does not change a list of failed jobs", () => {
  const event = { status: "failed", fail_code: "CANCELLED", type: "t", worker_id: null } as never;
  expect(foundAs(event)).toBe("cancelled");
  expect(couldShow({ state: "failed" }, event)).toBe(false);
  expect(couldShow({ state: "cancelled" }, event)).toBe(true);
});

test("O-29 the filter is written as a person would type it", () => {
  const filters = [
    { state: "failed,cancelled", type: "video.*", code: "TIMEOUT", since: "1h", q: "two words" },
    { id: "0198c0de", worker: "oak-01" },
    { q: "0198c0de" },
    { tenant: "media", user: "ci", until: "1m" },
    {},
  ];
  for (const filter of filters) expect(readWords(writeWords(filter))).toEqual(filter);
  expect(writeWords(filters[0]!)).toBe("state:failed,cancelled type:video.* code:TIMEOUT since:1h two words");
});

test("O-28 a job that is not due is scheduled, and the state pending finds waiting jobs only", () => {
  const status = (state: string) => hubFilter({ state }, 0).status;
  expect(status("pending")).toEqual(["waiting"]);
  expect(status("scheduled")).toEqual(["scheduled"]);
  expect(status("pending,scheduled,running")).toEqual(["scheduled", "waiting", "running"]);
  const job = { status: "pending", attempt: 0, run_at: Date.now() + 60_000 } as const;
  expect(foundAs(job)).toBe("scheduled");
  expect(foundAs({ ...job, run_at: 0 })).toBe("pending");
  // A job with an attempt behind it is pending, even if its retry is due later.
  expect(foundAs({ ...job, attempt: 1 })).toBe("pending");
});

test("O-28 an event of a new job does not tell whether it is scheduled, so it concerns both lists", () => {
  const event = { status: "pending", attempt: 0, type: "video", worker_id: null } as Parameters<
    typeof couldShow
  >[1];
  for (const state of ["pending", "scheduled"]) expect(couldShow({ state }, event)).toBe(true);
  expect(couldShow({ state: "running" }, event)).toBe(false);
  expect(couldShow({ state: "scheduled" }, { ...event, attempt: 1 })).toBe(false);
});
