import { expect, test } from "vitest";
import type { ProcessExit } from "../sandbox/sandbox.ts";
import { type EndedProcess, exitOutcome } from "./exit-outcome.ts";
import type { RunContext } from "./runner.ts";

const context = { lease: { timeout_sec: 60 } as RunContext["lease"] };
const isolation = { level: "strict" as const, applied: [], missing: [] };
const killed: ProcessExit = { exitCode: null, signal: "SIGKILL", usage: {}, outputLimited: false };

function outcomeOf(exit: Partial<ProcessExit>, changes: Partial<EndedProcess> = {}) {
  const base: EndedProcess = {
    argv: ["x"],
    exit: { ...killed, ...exit },
    stoppedBy: undefined,
    result: { kind: "none" },
    isolation,
  };
  return exitOutcome(context, { ...base, ...changes });
}

test("A7: a job whose launcher died has failed and is not released", () => {
  expect(outcomeOf({ lost: "the launcher is gone" })).toMatchObject({
    kind: "failed",
    code: "WORKER_DISCONNECTED",
    reason: "the launcher is gone",
  });
});

test("a job whose output this host cannot write is released", () => {
  expect(outcomeOf({ unwritten: "its output could not be written: ENOSPC" })).toEqual({
    kind: "released",
    reason: "its output could not be written: ENOSPC",
  });
});

test("a job that waited for room until its time was up ends as a timeout that names the full disk", () => {
  const unwritten = "its output could not be written: ENOSPC";
  expect(outcomeOf({ unwritten }, { stoppedBy: "timeout" })).toMatchObject({
    code: "TIMEOUT",
    reason: expect.stringMatching(/^ran longer than \d+ s; its output could not be written: ENOSPC$/),
  });
  expect(outcomeOf({ unwritten }, { stoppedBy: "cancelled" })).toMatchObject({ reason: "cancelled" });
});

test("a job that was stopped before the loss keeps its reason", () => {
  expect(outcomeOf({ lost: "the launcher is gone" }, { stoppedBy: "cancelled" })).toMatchObject({
    code: "CANCELLED",
  });
});

test("O-20: a stopped process has 128 + the signal that ended it as its exit code, or its own", () => {
  const stoppedBy = "cancelled" as const;
  expect(outcomeOf({ signal: "SIGTERM" }, { stoppedBy })).toMatchObject({ code: "CANCELLED", exitCode: 143 });
  expect(outcomeOf({}, { stoppedBy })).toMatchObject({ exitCode: 137 });
  expect(outcomeOf({ signal: null, exitCode: 3 }, { stoppedBy })).toMatchObject({ exitCode: 3 });
});

test("the kernel's count decides that a job ran out of memory, even if it ended well", () => {
  const oom = { kind: "failed", detail: "OOM_KILLED", exitCode: 137 };
  expect(outcomeOf({ usage: { oom: true } })).toMatchObject(oom);
  expect(outcomeOf({ usage: { oom: true }, exitCode: 0, signal: null })).toMatchObject(oom);
  expect(outcomeOf({})).toMatchObject({ detail: "SIGNALED" });
});

test("C5: a file of the host that is not in the cage is not found, with what to do about it", () => {
  const reasonOf = (command: string, applied: string[] = ["jail"]) => {
    const outcome = outcomeOf(
      { spawnError: { code: "ENOENT", message: "" } },
      { argv: [command], isolation: { ...isolation, applied } },
    );
    return outcome.kind === "succeeded" ? "" : outcome.reason;
  };
  for (const command of ["./make-report", "bin/tool", "/home/ann/make-report"]) {
    const reason = reasonOf(command);
    expect(reason).toMatch(
      new RegExp(`^command not found: ${command}; .*not visible.*execution.visible_paths`),
    );
    expect(reason.length).toBeLessThan(500);
  }
  expect(reasonOf("make-report")).toBe("command not found: make-report");
  expect(reasonOf("/usr/bin/none")).toBe("command not found: /usr/bin/none");
  expect(reasonOf("./make-report", [])).toBe("command not found: ./make-report");
});

test("every end has its usage and isolation", () => {
  const usage = { cpu_ms: 5, memory_peak_bytes: 6 };
  expect(outcomeOf({ exitCode: 0, signal: null, usage })).toMatchObject({
    kind: "succeeded",
    usage,
    isolation,
  });
});
