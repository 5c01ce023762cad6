import { expect, test } from "vitest";
import type { JobState } from "./job.ts";
import { type ShownRecord, statusOf } from "./job-status.ts";
import { type GrpcState, statesBehind } from "./state-names.ts";

function job(
  status: JobState,
  { reason, ...changes }: Partial<ShownRecord> & { reason?: string } = {},
): ShownRecord {
  return {
    id: "j1",
    user_id: "ann",
    tenant_id: "default",
    type: "exec",
    status,
    created_at: 1,
    started_at: null,
    completed_at: null,
    run_at: 1,
    attempt: 1,
    attempts: 1,
    max_attempts: 1,
    progress: null,
    worker_id: null,
    exit_code: null,
    fail_code: null,
    fail_detail: null,
    fail_reason: null,
    fail_history: reason === undefined ? [] : [{ reason }],
    cancel_requested_at: null,
    run: null,
    limits: null,
    isolation: null,
    usage: null,
    output: { stdout: 0, stderr: 0 },
    ...changes,
  };
}

const exited = {
  fail_code: "EXECUTION_ERROR",
  fail_detail: "WORKER_EXIT_ERROR",
  exit_code: 7,
  reason: "exited with code 7",
};
const killed = {
  fail_code: "EXECUTION_ERROR",
  fail_detail: "SIGNALED",
  exit_code: 139,
  reason: "killed by SIGSEGV",
};

const cases: [string, ShownRecord, GrpcState, number | null, string][] = [
  ["waits", job("pending"), "QUEUED", null, ""],
  ["waits for its retry", job("pending", exited), "QUEUED", null, ""],
  ["is claimed", job("assigned"), "QUEUED", null, ""],
  ["runs", job("running"), "RUNNING", null, ""],
  ["is done", job("completed", { exit_code: 0 }), "EXITED", 0, ""],
  ["is done and was no process", job("completed"), "EXITED", 0, ""],
  ["ran to its own end", job("failed", exited), "EXITED", 7, "exited with code 7"],
  ["ran to its own end too often", job("quarantined", exited), "EXITED", 7, "exited with code 7"],
  ["was killed", job("failed", killed), "FAILED", 139, "killed by SIGSEGV"],
  [
    "was never started",
    job("failed", { fail_code: "EXPIRED", fail_reason: "EXPIRED" }),
    "FAILED",
    null,
    "EXPIRED",
  ],
  ["was stopped", job("failed", { fail_code: "CANCELLED", reason: "cancelled" }), "STOPPED", null, "stopped"],
];

test.each(cases)("a job that %s", (_name, record, state, exit_code, reason) => {
  expect(statusOf(record, [])).toMatchObject({ state, exit_code, reason });
  expect(statesBehind[state]).toContain(record.status);
});

test.each(cases)("the failure codes of a job that %s are those of its end", (_name, record) => {
  const hasFailed = record.status === "failed" || record.status === "quarantined";
  const { fail_code, fail_detail } = hasFailed ? record : { fail_code: null, fail_detail: null };
  expect(statusOf(record, [])).toMatchObject({ fail_code, fail_detail });
});

test("O-20: a cancelled job is STOPPED with its exit code as soon as its processes are dead", () => {
  const told = { cancel_requested_at: 1 };
  expect(statusOf(job("running", told), []).state).toBe("RUNNING");
  for (const state of ["assigned", "running"] as const) {
    expect(statusOf(job(state, { ...told, exit_code: 143 }), [])).toMatchObject({
      state: "STOPPED",
      exit_code: 143,
      reason: "stopped",
      fail_code: "CANCELLED",
      fail_detail: null,
      output_arriving: true,
    });
  }
});

test("a list that leaves out the history still shows the last failure", () => {
  const last_failure = { reason: "boom", last_line: "no such table" };
  const listed = job("pending", { fail_history: null, last_failure, run_at: 90 });
  expect(statusOf(listed, [])).toMatchObject({
    last_error: "boom",
    last_line: "no such table",
    retry_at: 90,
  });
});

test("parts of a record that are damaged are named in the reason", () => {
  const damaged = ["result", "usage"];
  expect(statusOf(job("failed", { ...killed, damaged }), []).reason).toBe(
    "killed by SIGSEGV; its stored result, usage is damaged",
  );
  expect(statusOf(job("pending", { damaged: ["document"] }), []).reason).toBe(
    "its stored document is damaged",
  );
});
