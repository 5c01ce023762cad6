import { expect, test } from "vitest";
import { handClock } from "../runtime/clock/hand-clock.testing.ts";
import { silentLogger } from "../runtime/log/logger.ts";
import { plainSandbox } from "../sandbox/plain/plain-sandbox.ts";
import { createRunners, runnersOf } from "./create-runners.ts";
import { RunFailure, type Runner, type RunnerDeps } from "./runner.ts";

const never = new AbortController().signal;

function depsOf(clock = handClock()) {
  const settings = {
    stopGraceMs: 5_000,
    outputBytesMax: 1000,
    limits: {},
    maxLimits: {},
    handlers: {},
    secrets: {},
    solverCacheDir: "/nowhere",
    solverCacheBytesMax: 1000,
    solverBytesMax: 1000,
    solverHosts: [],
  };
  return { settings, sandbox: plainSandbox, clock, logger: silentLogger } satisfies RunnerDeps;
}

const files = { workDir: "/nowhere", logDir: "/nowhere", discards: { discard: async () => {} } };

/** A runner that keeps something between jobs, which ends as the test says. */
function keeper(close: NonNullable<Runner["close"]>): Runner {
  return {
    kind: "exec",
    isInProcess: () => false,
    run: async () => ({ kind: "succeeded", resultJson: "null" }),
    close,
  };
}

test("a kind that no runner is for is an invalid job", () => {
  const runners = createRunners({ ...depsOf(), ...files, functions: new Map() });
  expect(() => runners.runnerFor("delegate")).toThrow(RunFailure);
  expect(() => runners.runnerFor("delegate")).toThrow("this worker does not run delegate jobs");
});

test("the kinds are those that there are runners for", () => {
  const { kinds, runnerFor } = createRunners({ ...depsOf(), ...files, functions: new Map() });
  expect(kinds).toEqual(["exec", "exec_per_job", "persistent_http", "handler", "solver"]);
  expect(kinds.map((kind) => runnerFor(kind).kind)).toEqual(kinds);
});

test("a runner that fails to close does not keep the worker from stopping", async () => {
  const runners = runnersOf(depsOf(), [keeper(() => Promise.reject(new Error("stuck")))]);
  await expect(runners.close(never)).resolves.toBeUndefined();
});

test("a runner that does not close is left to the sandbox when its time is up", async () => {
  const clock = handClock();
  const closed = runnersOf(depsOf(clock), [keeper(() => new Promise(() => {}))]).close(never);
  await clock.pass(15_000);
  await expect(closed).resolves.toBeUndefined();
});

test("closing waits for what the runner keeps, and closes it once", async () => {
  const steps: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const runners = runnersOf(depsOf(), [
    keeper(async () => {
      steps.push("asked");
      await promise;
      steps.push("over");
    }),
  ]);
  const both = Promise.all([runners.close(never), runners.close(never)]);
  resolve();
  await both;
  expect(steps).toEqual(["asked", "over"]);
});
