import { expect, test } from "vitest";
import type { RunOutcome, StopReason } from "../../runners/runner.ts";
import { keepOutputs } from "./keep-outputs.ts";

const document = { output_location: { bucket: "b", prefix: "p/" }, run: { kind: "exec", collect: [] } };
const succeeded: RunOutcome = { kind: "succeeded", resultJson: "null", exitCode: 0 };

/** An attempt that was stopped after its process had ended, and before any of its files were kept. */
function keepAfter(reason: StopReason, outcome: RunOutcome): Promise<RunOutcome> {
  const attempt = { held: { lease: { timeout_sec: 60 } }, signal: AbortSignal.abort(reason) };
  return keepOutputs({} as never, attempt as never, { document, outcome, dir: "/nowhere" } as never);
}

test("a job that is stopped before its files are kept does not complete without them", async () => {
  expect(await keepAfter("drain", succeeded)).toMatchObject({ kind: "released" });
  expect(await keepAfter("lost", succeeded)).toMatchObject({ kind: "released" });
  expect(await keepAfter("cancelled", succeeded)).toMatchObject({ kind: "failed", code: "CANCELLED" });
  expect(await keepAfter("timeout", succeeded)).toMatchObject({ kind: "failed", code: "TIMEOUT" });
});

test("a job that failed by itself keeps its reason", async () => {
  const failed = { kind: "failed", code: "EXECUTION_ERROR", reason: "exit code 3" } as RunOutcome;
  expect(await keepAfter("drain", failed)).toBe(failed);
});
