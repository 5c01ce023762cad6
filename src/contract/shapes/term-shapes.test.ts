import { expect, test } from "vitest";
import { jobSubmission } from "./submit-shapes.ts";

const issuesOf = (fields: object): string[] => {
  const parsed = jobSubmission.safeParse({ type: "build", ...fields });
  return parsed.error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];
};

test.each([
  [{ max: 100 }, "retry.max: must be a whole number from 0 to 99"],
  [{ delay_sec: -1 }, "retry.delay_sec: must be a whole number of seconds from 0 to 86400"],
  [{ backoff: "random" }, "retry.backoff: must be fixed, linear, exponential"],
  [{ jitter: 2 }, "retry.jitter: must be a number from 0 to 1"],
  [{ on: [256] }, "retry.on.0: must be a failure code, a code of your own or an exit code from 0 to 255"],
  [{ on: [1], not_on: [2] }, "retry.not_on: give retry.on or retry.not_on, not both"],
  [
    { not_on: ["a b"] },
    "retry.not_on.0: must be a failure code, a code of your own or an exit code from 0 to 255",
  ],
  [
    { on: ["INVALID_JOB"] },
    "retry.on: INVALID_JOB is not for the job to decide; only TIMEOUT, EXECUTION_ERROR, their details, your own codes and exit codes can be named",
  ],
  [
    { not_on: [1, "WORKER_DISCONNECTED"] },
    "retry.not_on: WORKER_DISCONNECTED is not for the job to decide; only TIMEOUT, EXECUTION_ERROR, their details, your own codes and exit codes can be named",
  ],
])("the policy %j is refused", (retry, message) => {
  expect(issuesOf({ retry })).toEqual([message]);
});

test.each([0, 1.5, "60", 31_536_001])("a time to finish of %j is refused", (seconds) => {
  const [issue] = issuesOf({ finish_within_sec: seconds });
  expect(issue).toBe("finish_within_sec: must be a whole number of seconds from 1 to 31536000");
});

test.each([
  [{ labels: [""] }, "labels.0: Too small: expected string to have >=1 characters"],
  [{ labels: ["x".repeat(101)] }, "labels.0: Too big: expected string to have <=100 characters"],
  [{ labels: ["a", "a"] }, "labels: must name each label once"],
  [{ labels: Array.from({ length: 17 }, String) }, "labels: must be at most 16"],
  [{ keep_sec: -1 }, "keep_sec: must be a whole number of seconds from 0 to 31536000"],
  [{ keep_sec: 31_536_001 }, "keep_sec: must be a whole number of seconds from 0 to 31536000"],
])("%j is refused", (fields, message) => {
  expect(issuesOf(fields)).toEqual([message]);
});

const key = "k";
test.each([
  [{ key: "", until: "end" }, "unique.key: Too small: expected string to have >=1 characters"],
  [{ key }, "unique.until: must be start, end, window"],
  [{ key, until: "window" }, "unique.window_sec: is required with until window"],
  [{ key, until: "end", window_sec: 1 }, "unique.window_sec: belongs to until window only"],
  [
    { key, until: "window", window_sec: 604_801 },
    "unique.window_sec: must be a whole number of seconds from 1 to 604800",
  ],
  [{ key, until: "end", on_duplicate: "drop" }, "unique.on_duplicate: must be keep, replace, postpone"],
  [
    { key, until: "start", on_duplicate: "postpone" },
    "unique.debounce_sec: is required with on_duplicate postpone",
  ],
  [{ key, until: "start", debounce_sec: 1 }, "unique.debounce_sec: belongs to on_duplicate postpone only"],
  [{ key, until: "start", max_wait_sec: 1 }, "unique.max_wait_sec: belongs to on_duplicate postpone only"],
  [
    { key, until: "start", on_duplicate: "postpone", debounce_sec: 9, max_wait_sec: 8 },
    "unique.max_wait_sec: must not be less than debounce_sec",
  ],
])("the unique key %j is refused", (unique, message) => {
  expect(issuesOf({ unique })).toEqual([message]);
});

test("a policy may be empty, and may name codes of any kind", () => {
  expect(issuesOf({ retry: {} })).toEqual([]);
  expect(issuesOf({ retry: { on: ["TIMEOUT", "OOM_KILLED", "RATE_LIMITED", 75], jitter: 1 } })).toEqual([]);
});
