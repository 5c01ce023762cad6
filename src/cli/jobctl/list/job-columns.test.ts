import { expect, test } from "vitest";
import { jobView } from "../../../client/testing/tiny-hub.ts";
import { statusOfView } from "../../../contract/job-status.ts";
import { shortId } from "../../terminal/short-id.ts";
import { formatTable } from "../../terminal/table.ts";
import { detailOf, jobColumns, triesOf } from "./job-columns.ts";
import { shownState } from "./shown-state.ts";
import { fieldsOf } from "./status.ts";

const failure = { code: "EXECUTION_ERROR" as const, detail: null, worker_id: "w1", attempt: 2, ts: 0 };
const waiting = statusOfView(
  jobView({
    attempt: 2,
    attempts: 2,
    max_attempts: 3,
    run_at: 90_000,
    fail_history: [{ ...failure, reason: "boom" }],
  }),
);

test("C4: a job that waits for its next attempt says when it is due, why, and which try it was", () => {
  expect(triesOf(waiting)).toBe("2 of 3");
  expect(detailOf(waiting, 60_000)).toBe("retry in 30s: boom");
  expect(detailOf(waiting, 90_000)).toBe("retry when a worker is free: boom");
});

test("C4: a job that has not been tried, or is tried only once, counts no tries of how many", () => {
  expect(triesOf(statusOfView(jobView({ attempts: 0, max_attempts: 3 })))).toBeNull();
  expect(triesOf(statusOfView(jobView({ attempts: 1, max_attempts: 1 })))).toBe("1");
  expect(detailOf(statusOfView(jobView()), 0)).toBeNull();
});

test("O-28: a job whose time has not come is scheduled, with its time; one that was tried is not", () => {
  const later = statusOfView(jobView({ created_at: 1_000, run_at: 90_000 }));
  expect(later).toMatchObject({ state: "QUEUED", scheduled_at: 90_000 });
  expect(shownState(later, 60_000)).toBe("SCHEDULED");
  expect(detailOf(later, 60_000)).toBe("starts at 1970-01-01T00:01:30.000Z");
  expect(fieldsOf(later, 60_000)).toEqual(
    expect.arrayContaining([
      ["state", "SCHEDULED"],
      ["starts", "1970-01-01T00:01:30.000Z"],
    ]),
  );
  expect([shownState(later, 90_000), detailOf(later, 90_000)]).toEqual(["QUEUED", null]);
  const released = statusOfView(jobView({ created_at: 1_000, run_at: 90_000, attempt: 1 }));
  expect([shownState(released, 60_000), released.scheduled_at]).toEqual(["QUEUED", null]);
  expect(shownState(waiting, 60_000)).toBe("QUEUED");
});

const failed = statusOfView(
  jobView({
    ...{ status: "failed", exit_code: 3, attempt: 1, attempts: 1, max_attempts: 1 },
    ...{ fail_code: "EXECUTION_ERROR", fail_detail: "WORKER_EXIT_ERROR", fail_reason: "EXECUTION_ERROR" },
    fail_history: [{ ...failure, reason: "exited with code 3", last_line: "no such table: users" }],
  }),
);

test("a job that failed is shown with the last line of its stderr and its code, and where the rest is", () => {
  expect(detailOf(failed, 0)).toBe("exited with code 3: no such table: users (WORKER_EXIT_ERROR)");
  expect(fieldsOf(failed, 0)).toEqual(
    expect.arrayContaining([
      ["reason", "exited with code 3"],
      ["failure", "EXECUTION_ERROR, WORKER_EXIT_ERROR"],
      ["last line", "no such table: users"],
      ["stderr", `\`jobctl stream --stderr ${shortId(failed.job_id)}\` prints all of it`],
    ]),
  );
  expect(Object.fromEntries(fieldsOf({ ...failed, output_removed: true }, 0))).toMatchObject({
    "last line": "no such table: users",
    stderr: null,
  });
});

test("a job that is tried again is listed with the last line of the attempt that failed", () => {
  const line = { ...waiting, last_line: "no such table: users" };
  expect(detailOf(line, 60_000)).toBe("retry in 30s: boom: no such table: users");
});

test("a small terminal shows which job, its state and its command, one line each", () => {
  const context = { stdout: { isTTY: false }, env: {} } as never;
  const job = {
    job_id: "01890000-0000-7000-8000-000000000000",
    state: "EXITED",
    created_at: 0,
    attempts: 1,
    max_attempts: 3,
    user: "ann",
    worker: "worker-1",
    command: ["echo", "hello, this is long"],
    reason: "",
    exit_code: 0,
  } as never;
  const lines = formatTable(jobColumns(context, 60_000), [job], 38).trimEnd().split("\n");
  expect(lines[0]).toMatch(/^ID +STATE +AGE +COMMAND$/);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(38);
});
