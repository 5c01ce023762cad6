import { expect, test } from "vitest";
import { jobStates } from "./job.ts";
import { registryState, statesBehind } from "./state-names.ts";

test("every state of ours lies behind one of gRPC", () => {
  expect(new Set(Object.values(statesBehind).flat())).toEqual(new Set(jobStates));
});

test("the registry has fewer states, and distinguishes a stop from a failure", () => {
  expect(jobStates.map((status) => [status, registryState({ status, failCode: null })])).toEqual([
    ["pending", "pending"],
    ["assigned", "running"],
    ["running", "running"],
    ["completed", "completed"],
    ["failed", "error"],
    ["quarantined", "error"],
  ]);
  expect(registryState({ status: "failed", failCode: "CANCELLED" })).toBe("cancelled");
});
