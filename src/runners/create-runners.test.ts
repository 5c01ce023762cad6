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

/** A runner with state between jobs, whose close the test defines. */
function keeper(close: NonNullable<Runner["close"]>): Runner {
  return {
    kind: "exec",
    isInProcess: () => false,
    run: async () => ({ kind: "succeeded", resultJson: "null" }),
    close,
  };
}

test("a kind without a runner is an invalid job", () => {
  const runners = createRunners({ ...depsOf(), ...files, functions: new Map() });
  expect(() => runners.runnerFor("delegate")).toThrow(RunFailure);
  expect(() => runners.runnerFor("delegate")).toThrow("this worker does not run delegate jobs");
});

test("the kinds of a worker are those of its runners", () => {
  const { kinds, runnerFor } = createRunners({ ...depsOf(), ...files, functions: new Map() });
  expect(kinds).toEqual(["exec", "exec_per_job", "persistent_http", "handler", "solver"]);
  expect(kinds.map((kind) => runnerFor(kind).kind)).toEqual(kinds);
});

test("a runner that fails to close does not prevent the stop of the worker", async () => {
  const runners = runnersOf(depsOf(), [keeper(() => Promise.reject(new Error("stuck")))]);
  await expect(runners.close(never)).resolves.toBeUndefined();
});

test("a runner that does not close in time is left to the sandbox", async () => {
  const clock = handClock();
  const closed = runnersOf(depsOf(clock), [keeper(() => new Promise(() => {}))]).close(never);
  await clock.pass(15_000);
  await expect(closed).resolves.toBeUndefined();
});

test("closing waits for the runner's close and calls it once", async () => {
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
