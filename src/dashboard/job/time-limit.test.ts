import { expect, test } from "vitest";
import { submittedTimeoutSec, timeLimitText } from "./time-limit.ts";

test("O-31 a time limit is shown as submitted, and as doubled by timeouts", () => {
  expect(timeLimitText({ timeout_sec: 0, submitted_timeout_sec: 0 })).toBe("no time limit");
  expect(timeLimitText({ timeout_sec: 120, submitted_timeout_sec: 120 })).toBe("2m 00s each");
  expect(timeLimitText({ timeout_sec: 240, submitted_timeout_sec: 120 })).toBe(
    "2m 00s each as submitted, 4m 00s now: a timeout doubles it",
  );
  expect(submittedTimeoutSec({ timeout_sec: 60 })).toBe(60);
});
