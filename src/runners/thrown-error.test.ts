import { expect, test } from "vitest";
import { failureDetails } from "../core/jobs/failure.ts";
import { Final } from "./final.ts";
import { RunFailure } from "./runner.ts";
import { readThrown } from "./thrown-error.ts";

const withCode = (code: unknown) => Object.assign(new Error("no"), { code });

test.each([
  ["a code that Writ knows", withCode("INVALID_JOB"), { code: "INVALID_JOB" }],
  ["a detail that Writ knows", withCode("OOM_KILLED"), { code: "EXECUTION_ERROR", detail: "OOM_KILLED" }],
  ["a code of its own", withCode("CARD_DECLINED"), { code: "EXECUTION_ERROR", ownCode: "CARD_DECLINED" }],
  ["a timeout of its own", withCode("TIMEOUT"), { code: "TIMEOUT" }],
  ["a code that only the hub gives", withCode("CANCELLED"), { code: "EXECUTION_ERROR" }],
  ["a number as its code", withCode(20), { code: "EXECUTION_ERROR" }],
  ["a sentence as its code", withCode("no such card"), { code: "EXECUTION_ERROR" }],
])("O-21 an error with %s", (_, error, read) => {
  const { reason, trace, ...codes } = readThrown(error);
  expect(codes).toEqual(read);
  expect(reason).toBe("no");
  expect(trace).toMatch(/^Error: no\n +at .*thrown-error\.test/s);
});

test.each([
  "SECURITY_VIOLATION",
  ...Object.entries(failureDetails).flatMap(([detail, parent]) =>
    parent === "SECURITY_VIOLATION" || parent === "INVALID_JOB" ? [detail] : [],
  ),
  ...["WORKER_DISCONNECTED", "EXPIRED", "SANDBOX_UNAVAILABLE"],
])("O-10 a handler that throws %s has failed by itself, and this is no forgery", (code) => {
  const plain = { code: "EXECUTION_ERROR", reason: "no" };
  const { trace, ...thrown } = readThrown(withCode(code));
  expect(thrown).toEqual(plain);
  expect(readThrown(new Final("no", { code }))).toEqual({ ...plain, isFinal: true, trace: null });
});

test("O-21 the trace has the causes, up to a bound", () => {
  const error = new Error("outer", { cause: new Error("inner") });
  expect(readThrown(error).trace).toMatch(/^Error: outer\n.*\ncaused by: Error: inner\n/s);
  const circle = new Error("round");
  circle.cause = circle;
  expect(readThrown(circle).trace!.match(/caused by/g)).toHaveLength(7);
});

test("O-21 a problem that Writ itself found in a job has no trace", () => {
  expect(readThrown(new RunFailure("INVALID_JOB", undefined, "params.n: is missing")).trace).toBeNull();
});

test.each([
  ["a text", "odd", "odd"],
  ["nothing", undefined, "undefined"],
  ["an object that cannot be shown", Object.create(null), "an error that cannot be read"],
  ["an error without a message", new Error(), "the handler threw an error without a message"],
  [
    "an error that throws when it is read",
    Object.defineProperty(new Error(), "message", { get: () => assertNever() }),
    "an error that cannot be read",
  ],
  [
    "an error with a message that is no text",
    Object.assign(new Error(), { message: { deep: 1 } }),
    "[object Object]",
  ],
])("O-21 a handler that throws %s fails its job, not the worker", (_, thrown, reason) => {
  expect(readThrown(thrown)).toMatchObject({ code: "EXECUTION_ERROR", reason });
});

function assertNever(): never {
  throw new Error("do not read me");
}
