import { expect, test } from "vitest";
import { readReport, reportOutcome } from "./agent-outcome.ts";

function failureFor(code: string) {
  const report = {
    success: false,
    job_id: "one",
    job_class: "x",
    exit_code: 1,
    error: { code, message: "no" },
  };
  return reportOutcome(readReport(JSON.stringify(report), "one")!, "box");
}

test.each(["INVALID_SIGNATURE", "REPLAY", "SECURITY_VIOLATION", "WORKER_DISCONNECTED", "CANCELLED"])(
  "O-10 %s from inside a container counts as a failure of the job and not as a forgery",
  (code) => {
    const { detail, ...failure } = { detail: undefined, ...failureFor(code) };
    expect(failure).toMatchObject({ kind: "failed", code: "EXECUTION_ERROR", reason: "no" });
    expect(detail).toBeUndefined();
  },
);

test("a problem that an agent finds in a job keeps its code", () => {
  expect(failureFor("JOB_NOT_ACCEPTED")).toMatchObject({ code: "INVALID_JOB", detail: "JOB_NOT_ACCEPTED" });
  expect(failureFor("SPAWN_FAILED")).toMatchObject({ code: "EXECUTION_ERROR", detail: "SPAWN_FAILED" });
});
