import { expect, test } from "vitest";
import { type JobRecord, type JobState, jobStates } from "./job.ts";
import {
  grpcExitCode,
  grpcFailure,
  grpcReason,
  grpcState,
  registryState,
  statesBehind,
} from "./state-names.ts";

type Ended = Pick<
  JobRecord,
  "status" | "failCode" | "failDetail" | "exitCode" | "cancelRequestedAt" | "failHistory" | "failReason"
>;

function job(status: JobState, changes: Partial<Ended> & { reason?: string } = {}): Ended {
  const { reason, ...rest } = changes;
  const entry = {
    reason: reason ?? "",
    code: "EXECUTION_ERROR",
    detail: null,
    worker_id: "w",
    attempt: 1,
    ts: 0,
  } as const;
  return {
    status,
    failCode: null,
    failDetail: null,
    exitCode: null,
    cancelRequestedAt: null,
    failReason: null,
    failHistory: reason === undefined ? [] : [entry],
    ...rest,
  };
}

const exited = {
  failCode: "EXECUTION_ERROR",
  failDetail: "WORKER_EXIT_ERROR",
  exitCode: 7,
  reason: "exited with code 7",
} as const;
const killed = {
  failCode: "EXECUTION_ERROR",
  failDetail: "SIGNALED",
  exitCode: 139,
  reason: "killed by SIGSEGV",
} as const;

const cases: [string, Ended, string, number | undefined, string][] = [
  ["waits", job("pending"), "QUEUED", undefined, ""],
  ["waits for its retry", job("pending", exited), "QUEUED", undefined, ""],
  ["is claimed", job("assigned"), "QUEUED", undefined, ""],
  ["runs", job("running"), "RUNNING", undefined, ""],
  ["is done", job("completed", { exitCode: 0 }), "EXITED", 0, ""],
  ["is done and was no process", job("completed"), "EXITED", 0, ""],
  ["ran to its own end", job("failed", exited), "EXITED", 7, "exited with code 7"],
  ["ran to its own end too often", job("quarantined", exited), "EXITED", 7, "exited with code 7"],
  ["was killed", job("failed", killed), "FAILED", 139, "killed by SIGSEGV"],
  [
    "was never started",
    job("failed", { failCode: "EXPIRED", failReason: "EXPIRED" }),
    "FAILED",
    undefined,
    "EXPIRED",
  ],
  [
    "was stopped",
    job("failed", { failCode: "CANCELLED", reason: "cancelled" }),
    "STOPPED",
    undefined,
    "stopped",
  ],
];

test.each(cases)("a job that %s", (_name, record, state, exitCode, reason) => {
  expect([grpcState(record), grpcExitCode(record), grpcReason(record)]).toEqual([state, exitCode, reason]);
  expect(statesBehind[grpcState(record)]).toContain(record.status);
});

test("O-20: a cancelled job is STOPPED with its exit code as soon as its processes are dead", () => {
  const told = { cancelRequestedAt: 1 };
  expect(grpcState(job("running", told))).toBe("RUNNING");
  for (const state of ["assigned", "running"] as const) {
    const stopped = job(state, { ...told, exitCode: 143 });
    expect([grpcState(stopped), grpcExitCode(stopped), grpcReason(stopped)]).toEqual([
      "STOPPED",
      143,
      "stopped",
    ]);
    expect(grpcFailure(stopped)).toEqual({ failCode: "CANCELLED", failDetail: "" });
  }
});

test("every state of ours lies behind one of gRPC", () => {
  expect(new Set(Object.values(statesBehind).flat())).toEqual(new Set(jobStates));
});

test.each(cases)("the failure codes of a job that %s are those of its end", (_name, record) => {
  const hasFailed = record.status === "failed" || record.status === "quarantined";
  expect(grpcFailure(record)).toEqual({
    failCode: hasFailed ? record.failCode : "",
    failDetail: hasFailed ? (record.failDetail ?? "") : "",
  });
});

test("the registry knows fewer states, and tells a stop from a failure", () => {
  expect(jobStates.map((status) => [status, registryState(job(status))])).toEqual([
    ["pending", "pending"],
    ["assigned", "running"],
    ["running", "running"],
    ["completed", "completed"],
    ["failed", "error"],
    ["quarantined", "error"],
  ]);
  expect(registryState(job("failed", { failCode: "CANCELLED" }))).toBe("cancelled");
});
