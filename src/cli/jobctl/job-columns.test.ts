import { expect, test } from "vitest";
import { jobOfView } from "../../client/job-of-view.ts";
import { jobView } from "../../client/testing/tiny-hub.ts";
import { detailOf, triesOf } from "./job-columns.ts";

const failure = { code: "EXECUTION_ERROR" as const, detail: null, worker_id: "w1", attempt: 2, ts: 0 };
const waiting = jobOfView(
  jobView({ attempts: 2, max_attempts: 3, run_at: 90_000, fail_history: [{ ...failure, reason: "boom" }] }),
);

test("C4: a job that waits for its next attempt says when it is due, why, and which try it was", () => {
  expect(triesOf(waiting)).toBe("2 of 3");
  expect(detailOf(waiting, 60_000)).toBe("retry in 30s: boom");
  expect(detailOf(waiting, 90_000)).toBe("retry when a worker is free: boom");
});

test("C4: a job that has not been tried, or is tried only once, counts no tries of how many", () => {
  expect(triesOf(jobOfView(jobView({ attempts: 0, max_attempts: 3 })))).toBeNull();
  expect(triesOf(jobOfView(jobView({ attempts: 1, max_attempts: 1 })))).toBe("1");
  expect(detailOf(jobOfView(jobView()), 0)).toBeNull();
});
